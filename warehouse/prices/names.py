"""Which spellings of a model name mean the same model: from the most exact to the plainest."""

import re

# Marks that change the route or the window of a model and not its price row.
_SUFFIXES = re.compile(r"(\[1m\]|:thinking|:beta|:extended)$")
# An ARN, or the region of an inference profile in front of the maker's name.
_BEDROCK = re.compile(r"arn:aws[\w-]*:bedrock:|(us|eu|apac|jp|au|ca|global)\.[a-z0-9]+\.")
_DATE_AFTER_AT = re.compile(r"@(\d{8}|\d{4}-\d{2}-\d{2}|latest|default)$")


def spellings(model: str) -> list[str]:
    """List the spellings under which a catalogue may know `model`, most exact first, without repeats.

    Knows ARNs (the tail counts), marks such as `[1m]` and `:thinking`, a date behind `@`, a provider
    in front of a slash, and upper case.
    """
    name = model.strip().lower()
    if name.startswith("arn:"):
        name = name.rsplit("/", 1)[-1]
    found = [name]
    bare = _DATE_AFTER_AT.sub("", _SUFFIXES.sub("", name))
    found.append(bare)
    while "/" in bare:
        bare = bare.split("/", 1)[1]
        found.append(bare)
    return list(dict.fromkeys(spelling for spelling in found if spelling))


def seller(model: str) -> str | None:
    """Read the seller that a name itself tells: `openai/gpt-4o`, or an id of Bedrock with its region."""
    name = model.strip().lower()
    if _BEDROCK.match(name):
        return "aws"
    head, slash, _ = name.partition("/")
    return head if slash and head and ":" not in head else None
