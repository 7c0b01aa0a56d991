"""Decode: requests of the journal to rows of the warehouse, in two steps.

`columnar.py` (or `plain.py`, slower and equal) flattens protobuf to tables; `spans.py` reads them by the
dialect files. No text of a prompt, an answer, an argument or a result leaves this package, unless the user
chose that.
"""

from collector.decode.block import decode_block
from collector.decode.options import DecodeOptions

__all__ = ["DecodeOptions", "decode_block"]
