"""The key of content hashes: made once per installation, never sent anywhere, kept with the data."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from taximeter.errors import SettingsError

_BYTES = 32


def read_or_make(path: Path) -> bytes:
    """Read the key at `path`, or make one there that only this user can read.

    Two programs that make it at once end with the same key: the first to link it in place wins.

    Raises:
        SettingsError: the file is there but holds no key of 32 bytes.
    """
    if not path.exists():
        _make(path)
    key = path.read_bytes()
    if len(key) != _BYTES:
        message = f"{path} holds no key of {_BYTES} bytes; restore it, or remove it to start with new hashes"
        raise SettingsError(message)
    return key


def _make(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(secrets.token_bytes(_BYTES))
        file.flush()
        os.fsync(file.fileno())
    with suppress(FileExistsError):
        path.hardlink_to(draft)
    draft.unlink()
