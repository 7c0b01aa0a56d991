"""Advice into the warehouse, by the same door as everything else: a block of the inbox."""

import os
import shutil

import pyarrow as pa
import pyarrow.parquet as pq

from taximeter.layout import DataFolder
from warehouse.rows import DECODER_VERSION, RECOMMENDATIONS, block_name


def send(folder: DataFolder, journal: str, table: pa.Table) -> None:
    """Put rows of RECOMMENDATIONS into the inbox as the one block of a journal, whole and durable.

    A journal that was sent before stays as it is: the same run has the same rows.

    Raises:
        pyarrow.ArrowInvalid: the table does not have the schema.
    """
    name = block_name(journal, 0)
    draft, target = folder.staging / name, folder.inbox / name
    if target.exists():
        return
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    about = {"journal": journal, "sequence": "0", "decoder_version": str(DECODER_VERSION)}
    file = draft / "recommendations.parquet"
    rows = table.cast(RECOMMENDATIONS).replace_schema_metadata(about)
    pq.write_table(rows, file, compression="zstd", write_page_checksum=True)
    _sync(file)
    _sync(draft)
    draft.rename(target)
    _sync(folder.inbox)


def _sync(path: os.PathLike[str]) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
