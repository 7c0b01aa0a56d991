"""What is set aside is bounded."""

import os
from pathlib import Path

from taximeter.quarantine import trim


def test_the_oldest_goes_first_and_the_newest_stays(tmp_path: Path) -> None:
    """Files and folders count alike; one that is larger than the bound is kept while it is the newest."""
    for age, name in enumerate(("newest", "newer", "old", "oldest")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "spans.parquet").write_bytes(b"x" * 40)
        os.utime(tmp_path / name, ns=(10**18 - age, 10**18 - age))
    (tmp_path / "ancient.pb").write_bytes(b"x" * 40)
    os.utime(tmp_path / "ancient.pb", ns=(1, 1))

    assert trim(tmp_path, 100) == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["newer", "newest"]
    assert trim(tmp_path, 1) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["newest"]
