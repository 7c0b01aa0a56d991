"""Route narrow steps to a smaller model: one of the same provider that the recording already uses."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from planner.advice.calls import Call, Rates, percentile, recost, total
from planner.advice.found import Advice, Evidence, Found, Refusal, Remedy, Saving, confidence
from planner.advice.groups import Group, groups, put
from planner.advice.load import Load
from planner.advice.rules import match, rule
from taximeter.units import share, usd

KIND = "route_narrow"
StepKey = tuple[str | None, str | None, str | None, str | None]


class Narrow(NamedTuple):
    """Steps of one name that are narrow, and what says so."""

    key: StepKey  # agent, step, provider, model
    calls: tuple[Call, ...]
    signal: str
    output_tokens_p95: float
    coverage_ratio: float

    @property
    def title(self) -> str:
        """Name it on screens."""
        agent, step, _, model = self.key
        return f"{agent or 'no agent'}: {step or 'unnamed step'} on {model or 'no model'}"


class Smaller(NamedTuple):
    """A model that could take them, and what it costs a token."""

    model: str
    rates: Rates
    calls: int
    price_source: str | None


def find(load: Load) -> Iterator[Found]:
    """Advise for each narrow step that a cheaper model of its provider could take."""
    narrow, refused = narrow_steps(load)
    yield from refused
    if not narrow and load.calls:
        yield Refusal(
            KIND, "all model calls", "no step is known to be narrow by its name or its short answers"
        )
    for one in narrow:
        smaller = smaller_model(one, load.calls)
        if smaller is None:
            reason = (
                f"the recording has no cheaper model of its provider with"
                f" {rule('least', 'calls'):.0f} good calls and a price"
            )
            yield Refusal(KIND, one.title, reason, agent=one.key[0], coverage_ratio=one.coverage_ratio)
        else:
            yield from _advise(one, smaller, load)


def narrow_steps(load: Load) -> tuple[list[Narrow], list[Refusal]]:
    """List the steps that a small model can take, each with the signal that says so."""
    narrow: list[Narrow] = []
    refused: list[Refusal] = []
    for group in groups(load, KIND):
        if isinstance(group, Refusal):
            refused.append(group)
        else:
            narrow += _of_group(group)
    return narrow, refused


def _of_group(group: Group) -> Iterator[Narrow]:
    by_name: dict[str | None, list[Call]] = {}
    for call in group.calls:
        by_name.setdefault(call.name, []).append(call)
    for name, calls in sorted(by_name.items(), key=lambda item: item[0] or ""):
        signal = _signal(group.agent, name, calls)
        if signal is None:
            continue
        p95 = percentile([call.output or 0 for call in calls], 0.95)
        agent, provider, model = group.key
        yield Narrow((agent, name, provider, model), tuple(calls), signal, p95, group.coverage_ratio)


def _signal(agent: str | None, name: str | None, calls: Sequence[Call]) -> str | None:
    """Name what says that steps are narrow: their name, else always short answers that ask nothing."""
    if len(calls) < rule("least", "calls") or any(call.asked_tool or call.reasoning for call in calls):
        return None
    p95 = percentile([call.output or 0 for call in calls], 0.95)
    if (found := match("narrow", agent, name)) and p95 <= rule("narrow", "word_output_tokens"):
        return f"{found[0]}: the name says “{found[1]}”, and 95 % of answers have at most {p95:.0f} tokens"
    is_silent = all(call.asked_tool is False for call in calls)
    if is_silent and p95 <= rule("narrow", "short_output_tokens"):
        return f"short outputs: 95 % of answers have at most {p95:.0f} tokens, and none asked for a tool"
    return None


def smaller_model(narrow: Narrow, calls: Sequence[Call]) -> Smaller | None:
    """Find the model of the same provider, in use and with good calls, that makes these steps cheapest."""
    _, _, provider, own = narrow.key
    by_model: dict[str, list[Call]] = {}
    for call in calls:
        if (
            call.provider == provider
            and call.model
            and call.model != own
            and call.rates
            and call.status != "error"
        ):
            by_model.setdefault(call.model, []).append(call)
    best: tuple[object, str] | None = None
    for model, used in sorted(by_model.items()):
        if len(used) < rule("least", "calls"):
            continue
        newest = max(used, key=lambda call: (call.start_ns, call.step_id))
        price = total(_moved(call, model, newest.rates) for call in narrow.calls)
        if price < total(narrow.calls) and (best is None or (price, model) < best):
            best = (price, model)
            found = Smaller(model, newest.rates or Rates(price, price), len(used), newest.price_source)
    return found if best else None


def _moved(call: Call, model: str, rates: Rates | None) -> Call:
    """Cost a call on another model, whose cache holds nothing of its thread."""
    cold = {name: 0 for name in ("read", "write", "write_1h") if getattr(call, name) is not None}
    return recost(call, model=model, rates=rates, **cold)


def _advise(narrow: Narrow, smaller: Smaller, load: Load) -> Iterator[Advice]:
    before = total(narrow.calls)
    saved = before - total(_moved(call, smaller.model, smaller.rates) for call in narrow.calls)
    steps = {(call.task_id, call.step_id) for call in narrow.calls}

    def recall(calls: Sequence[Call]) -> list[Call]:
        moved = [
            _moved(call, smaller.model, smaller.rates)
            for call in calls
            if (call.task_id, call.step_id) in steps and call.is_plain
        ]
        return put(calls, moved)

    ratio = len(narrow.calls) / max(sum(call.paid_by == "tokens" for call in load.calls), 1)
    yield Advice(
        kind=KIND,
        target=narrow.title,
        sentence=f"Let {smaller.model} take {narrow.title}, {share(ratio)} of all model calls:"
        f" {usd(saved)} of {usd(before)} over the recording.",
        change=f"Set the model of this step to {smaller.model}, on a tenth of the tasks first, and compare"
        " `outcomes` before and after.",
        cost_usd=before,
        saving=Saving(
            usd=saved,
            assumption="the smaller model of the same provider uses the same tokens; whether its answers are"
            " as"
            " good is not in the recording",
        ),
        evidence=Evidence(
            "recommendations_calls",
            load.window.params(agent=narrow.key[0], model=narrow.key[3]),
            len(narrow.calls),
        ),
        signal=narrow.signal,
        remedy=Remedy(recall=recall),
        agent=narrow.key[0],
        coverage_ratio=narrow.coverage_ratio,
        confidence=confidence(
            is_replayed=True,
            window_s=load.recorded_s,
            coverage_ratio=narrow.coverage_ratio,
            is_measured=False,  # its answers were never seen
        ),
        price_source=smaller.price_source,
    )
