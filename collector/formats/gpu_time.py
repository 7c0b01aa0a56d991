"""Instants of GPU sample files as nanoseconds UTC: ISO text, epoch numbers of any unit, Parquet timestamps.

An epoch number is told by its size: below 1e11 seconds, below 1e14 milliseconds, below 1e17 microseconds,
else nanoseconds. What would lie before the year 2000 is no sampling time (relative seconds, say) and is null.
"""

import polars as pl

_ISO = (
    r"^(?<day>\d{4}[-/]\d{2}[-/]\d{2})[T ](?<clock>\d{2}:\d{2}:\d{2})(?:[.,](?<part>\d{1,9})\d*)?"
    r" ?(?<zone>Z|UTC|[+-]\d{2}:?\d{2})?$"
)
_EPOCH = r"^(?<whole>\d{1,19})(?:\.(?<part>\d{1,9})\d*)?$"
_FIRST_NS = 946_684_800 * 1_000_000_000  # 2000-01-01
_UNITS = ((10**11, 10**9), (10**14, 10**6), (10**17, 10**3))
_LARGEST_FLOAT_S = 1e11


def to_instants(values: pl.Series, zone: str | None) -> pl.Series:
    """Read a column of times as nanoseconds UTC; null where one cannot be told.

    A time without a zone is read in `zone`; where that is None, or the time happens twice or never there
    (daylight saving), it names no instant and is null.
    """
    if isinstance(values.dtype, pl.Datetime):
        found = _of_timestamps(values, zone)
    elif values.dtype.is_integer():
        found = _of_epoch(values.cast(pl.String))
    elif values.dtype.is_float():
        whole = values.fill_nan(None).round().cast(pl.Int64, strict=False).cast(pl.String)
        found = _of_epoch(
            pl.select(pl.when(values < _LARGEST_FLOAT_S).then(values.cast(pl.String)).otherwise(whole))
        )
    else:
        text = values.cast(pl.String).str.strip_chars()
        found = pl.select(pl.coalesce(_of_epoch(text), _of_iso(text, zone))).to_series()
    return pl.select(pl.when(found >= _FIRST_NS).then(found)).to_series()


def _of_timestamps(values: pl.Series, zone: str | None) -> pl.Series:
    dtype = values.dtype
    precise = values.dt.cast_time_unit("ns")
    if isinstance(dtype, pl.Datetime) and dtype.time_zone is None:
        if zone is None:
            return pl.Series([None] * len(values), dtype=pl.Int64)
        precise = precise.dt.replace_time_zone(zone, ambiguous="null", non_existent="null")
    return precise.dt.epoch("ns")


def _of_epoch(text: pl.Series | pl.DataFrame) -> pl.Series:
    series = text.to_series() if isinstance(text, pl.DataFrame) else text
    parts = series.str.extract_groups(_EPOCH).struct.unnest()
    whole = parts["whole"].cast(pl.Int64, strict=False)
    part = parts["part"].fill_null("").str.pad_end(9, "0").cast(pl.Int64)
    scaled = [
        pl.when(whole < limit).then(whole * factor + part * factor // 10**9) for limit, factor in _UNITS
    ]
    return pl.select(pl.coalesce(*scaled, whole)).to_series()


def _of_iso(text: pl.Series, zone: str | None) -> pl.Series:
    parts = text.str.extract_groups(_ISO).struct.unnest()
    moment = (parts["day"].str.replace_all("/", "-") + " " + parts["clock"]).str.to_datetime(
        "%Y-%m-%d %H:%M:%S", time_unit="ns", strict=False
    )
    part = parts["part"].fill_null("").str.pad_end(9, "0").cast(pl.Int64)
    local = _of_timestamps(moment, zone)
    shown = parts["zone"].str.replace(":", "")
    offset = shown.str.extract(r"^([+-]\d{2})\d{2}$").cast(pl.Int64) * 3600
    minutes = shown.str.extract(r"^[+-]\d{2}(\d{2})$").cast(pl.Int64) * 60
    sign = pl.when(shown.str.starts_with("-")).then(-1).otherwise(1)
    shift = pl.coalesce(offset + minutes * pl.select(sign).to_series(), 0)
    with_zone = moment.dt.epoch("ns") - pl.select(shift).to_series() * 10**9
    return pl.select(
        pl.when(parts["zone"].is_null()).then(local + part).otherwise(with_zone + part)
    ).to_series()
