"""Words of many libraries to few: finish reasons, providers, identifiers, addresses."""

import polars as pl

from collector.dialects.read import words

LONGEST = 200  # characters kept of a name; a longer one may hold content
_ONE_WORD = r"^[\w.:\-/<>\[\]]+$"  # the form of an error's type: one word, never a sentence
_URL = r"^(?:[a-zA-Z][\w+.-]*://)?(?:[^@/]*@)?(\[[0-9a-fA-F:.]+\]|[^:/?#]+)(?::(\d{1,5}))?(?:[/?#].*)?$"


def short(text: pl.Expr) -> pl.Expr:
    """Cut a name to the characters that are kept."""
    return text.str.slice(0, LONGEST)


def finish_reason(text: pl.Expr) -> pl.Expr:
    """Map a finish reason to stop, length, tool_calls, content_filter or error, else keep its own word.

    Accepts one word, a JSON list of words, words joined by commas, and enum texts such as Reason.STOP.
    """
    first = pl.when(text.str.starts_with("[")).then(text.str.json_path_match("$[0]")).otherwise(text)
    word = first.str.split(",").list.first().str.strip_chars().str.replace(r"^.*\.", "").str.to_lowercase()
    word = word.str.replace_all("-", "_")
    mapped = word.replace_strict(dict(words().finish_reasons), default=None, return_dtype=pl.String)
    kept = pl.when(word.str.contains(_ONE_WORD) & (word.str.len_chars() <= 40)).then(word)  # noqa: PLR2004
    return pl.coalesce(mapped, kept)


def service_tier(text: pl.Expr) -> pl.Expr:
    """Keep the tier that a call was sold in, in lower case; the ordinary one is null."""
    low = text.str.strip_chars().str.to_lowercase()
    kept = low.str.contains(_ONE_WORD) & (low.str.len_chars() <= 40)  # noqa: PLR2004
    return pl.when(kept & ~low.is_in(sorted(words().ordinary_tiers))).then(low)


def outcome(text: pl.Expr) -> pl.Expr:
    """Map what was said of a task to success or failure; any other word says neither."""
    low = text.str.strip_chars().str.to_lowercase()
    return low.replace_strict(dict(words().outcomes), default=None, return_dtype=pl.String)


def provider(text: pl.Expr) -> pl.Expr:
    """Write a provider in lower case; the name of a framework is none."""
    low = short(text.str.strip_chars().str.to_lowercase())
    return pl.when(~low.is_in(sorted(words().frameworks))).then(low)


def call_id(text: pl.Expr) -> pl.Expr:
    """Keep a tool call's id; words that stand for a missing one are null."""
    return pl.when(~text.is_in(sorted(words().no_call_id))).then(short(text))


def error_type(text: pl.Expr) -> pl.Expr:
    """Keep an error's type or code; a sentence is a message, may hold content, and is dropped."""
    return pl.when(text.str.contains(_ONE_WORD) & (text.str.len_chars() <= LONGEST)).then(text)


def host_of(address: pl.Expr) -> pl.Expr:
    """Take the host from an address, which may be a whole URL; credentials in it are dropped."""
    return short(address.str.extract(_URL, 1))


def port_of(address: pl.Expr) -> pl.Expr:
    """Take the port from an address as text, null if it names none."""
    return address.str.extract(_URL, 2)


def flag(text: pl.Expr) -> pl.Expr:
    """Read a flag sent as a boolean or as the text of one; anything else is null."""
    low = text.str.strip_chars().str.to_lowercase()
    return pl.when(low == "true").then(pl.lit(True)).when(low == "false").then(pl.lit(False))
