"""Change billing: pay by the hour, the minute or the second for cards that are let go when idle."""

from collections.abc import Iterator

from planner.advice.fleets import Judged, best, judged, none_found, tell
from planner.advice.found import Found, Plan, Refusal
from planner.advice.load import Load
from planner.catalogue import make_policy
from planner.fleet import Billing
from planner.policy_file import NamedBlocks

KIND = "change_billing"
_BILLS = {
    "by the whole hour": Billing(3_600.0),
    "by the minute": Billing(60.0),
    "by the second, 60 s at least": Billing(1.0, 60.0),
    "by the second": Billing(1.0),
}
_KEPT_S = (60.0, 600.0, 3_600.0)


def find(load: Load) -> Iterator[Found]:
    """Advise for each deployment the coarsest bill under which letting idle cards go saves most.

    All at the card's own price: what another seller asks for another bill is not known here.
    """
    for one in judged(load, KIND):
        if isinstance(one, Refusal):
            yield one
            continue
        plans = {(bill, kept_s): _plan(one, bill, kept_s) for bill in _BILLS for kept_s in _KEPT_S}
        chosen = best(one, plans.values())
        if chosen is None:
            yield none_found(KIND, one)
            continue
        bill, kept_s = next(key for key, plan in plans.items() if plan is chosen.plan)
        yield tell(
            KIND,
            one,
            chosen,
            load,
            what=f"billed {bill}, each replica let go {kept_s:g} s after it was last used",
            change=f"Rent these cards where they are billed {bill}, at no more than their price now, and let"
            " a replica"
            f" go after {kept_s:g} s without a call.",
            manifest=None,
        )


def _plan(one: Judged, bill: str, kept_s: float) -> Plan:
    block = {"name": f"{bill}, kept {kept_s:g} s", "queue_length": {"tick_s": 15.0, "down_after_s": kept_s}}
    policy = NamedBlocks.model_validate(block)
    pools = tuple(pool._replace(billing=_BILLS[bill]) for pool in one.case.fleet.pools)
    fleet = one.case.fleet._replace(pools=pools)
    return Plan(one.name, lambda case: make_policy(policy, case.facts), fleet)
