"""What decode is told by its program."""

from collections.abc import Mapping
from typing import NamedTuple

from collector.sources.read import Meaning


class DecodeOptions(NamedTuple):
    """The user's choices that change what a row holds."""

    content_key: bytes  # of the keyed hashes of content; one per installation
    capture_text: bool  # keep the text of prompts and answers beside their hashes
    task_key: str | None  # attribute of a span or its resource that names the task, before the dialect's own
    sources: Mapping[str, Meaning] | None = (
        None  # what other exporters call GPU metrics; null: the built-in files
    )
