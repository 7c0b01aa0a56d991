"""A page of metrics in the text form that Prometheus reads, as the metrics of one OTLP request."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import AGGREGATION_TEMPORALITY_CUMULATIVE, Metric
from prometheus_client import Metric as Family
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from taximeter.errors import BadInputError

SCOPE = "taximeter.scrape"
MOST_SERIES = 200_000
_DISTRIBUTIONS = {"histogram", "gaugehistogram", "summary"}
_LARGEST_S = 9e9  # nanoseconds of a later time do not fit
# The parser adds `_total` to every counter; these were told without it.
_BARE_COUNTER = re.compile(r"^# TYPE[ \t]+(\S+(?<!_total))[ \t]+counter\s*$", re.MULTILINE)
Labels = Mapping[str, str]


class Page(NamedTuple):
    """A page's families in order, the number of its series, and the counters it names without `_total`."""

    families: tuple[Family, ...]
    series: int
    bare_counters: frozenset[str] = frozenset()


def read_page(text: str) -> Page:
    """Read a page; a bad line makes the whole page unreadable, as it does for Prometheus.

    Raises:
        BadInputError: it is no such page, it is empty, or it tells more than MOST_SERIES series.
    """
    families: list[Family] = []
    series = 0
    try:
        for family in text_string_to_metric_families(text):
            series += len(family.samples)
            if series > MOST_SERIES:
                message = f"a page of more than {MOST_SERIES:,} series"
                raise BadInputError(message)
            families.append(family)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        message = f"no page of metrics: {str(error)[:100] or type(error).__name__}"
        raise BadInputError(message) from None
    if not series:
        message = "no page of metrics: it tells no series"
        raise BadInputError(message)
    return Page(tuple(families), series, frozenset(_BARE_COUNTER.findall(text)))


def to_request(page: Page, t_ns: int, resource: Labels, labels: Labels) -> bytes:
    """Make one ExportMetricsServiceRequest; a series' own timestamp counts before `t_ns`.

    Names stay as the page tells them; histograms and summaries keep their sum and count. What a page tells
    as not a number is no point.
    """
    request = ExportMetricsServiceRequest()
    of_resource = request.resource_metrics.add()
    of_resource.resource.attributes.extend(_pairs(resource))
    scope = of_resource.scope_metrics.add()
    scope.scope.name = SCOPE
    for family in page.families:
        if family.type in _DISTRIBUTIONS:
            _add_distribution(scope.metrics.add(name=family.name, unit=family.unit), family, t_ns, labels)
        else:
            is_bare = family.name in page.bare_counters
            for name, samples in _by_name(family.samples):
                metric = scope.metrics.add(name=family.name if is_bare else name, unit=family.unit)
                _add_numbers(metric, samples, t_ns, labels, is_counter=family.type == "counter")
    return request.SerializeToString()


def _by_name(samples: Iterable[Sample]) -> Iterator[tuple[str, list[Sample]]]:
    """Part a family by the names of its series; the time of creation of a counter is none of its figures."""
    found: dict[str, list[Sample]] = {}
    for sample in samples:
        if not sample.name.endswith("_created"):
            found.setdefault(sample.name, []).append(sample)
    yield from found.items()


def _add_numbers(
    metric: Metric, samples: list[Sample], t_ns: int, labels: Labels, *, is_counter: bool
) -> None:
    if is_counter:
        metric.sum.aggregation_temporality = AGGREGATION_TEMPORALITY_CUMULATIVE
        metric.sum.is_monotonic = True
    points = metric.sum.data_points if is_counter else metric.gauge.data_points
    for sample in samples:
        if math.isfinite(sample.value):
            at_ns = _instant(sample, t_ns)
            points.add(
                attributes=_pairs({**sample.labels, **labels}), time_unix_nano=at_ns, as_double=sample.value
            )


def _add_distribution(metric: Metric, family: Family, t_ns: int, labels: Labels) -> None:
    """Keep sum and count of each series of a histogram or summary; one without a count is no point."""
    sums: dict[tuple[tuple[str, str], ...], Sample] = {}
    counts: dict[tuple[tuple[str, str], ...], Sample] = {}
    for sample in family.samples:
        key = tuple(sorted(sample.labels.items()))
        if sample.name.endswith("_sum"):
            sums[key] = sample
        elif sample.name.endswith("_count"):
            counts[key] = sample
    for key, counted in counts.items():
        if not math.isfinite(counted.value) or counted.value < 0:
            continue
        of_histogram = metric.histogram
        of_histogram.aggregation_temporality = AGGREGATION_TEMPORALITY_CUMULATIVE
        point = of_histogram.data_points.add(
            attributes=_pairs(dict(key) | dict(labels)),
            time_unix_nano=_instant(counted, t_ns),
            count=int(counted.value),
        )
        if key in sums and math.isfinite(sums[key].value):
            point.sum = sums[key].value


def _instant(sample: Sample, t_ns: int) -> int:
    told = sample.timestamp
    if told is None:
        return t_ns
    seconds = float(told)
    return round(seconds * 1000) * 1_000_000 if 0 < seconds < _LARGEST_S else t_ns


def _pairs(values: Mapping[str, str]) -> list[KeyValue]:
    return [KeyValue(key=key, value=AnyValue(string_value=value)) for key, value in values.items()]
