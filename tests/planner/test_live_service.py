"""The replay beside a small real service: processes that start, serve HTTP and end under a real policy."""

from benchmarks import _planner_live as lively
from planner.policies.queue_length import QueueLength


def policy() -> QueueLength:
    return QueueLength(tick_s=0.5, down_after_s=2.0, max_replicas=4)


def test_a_real_service_holds_its_replicas_about_as_long_as_its_replay() -> None:
    """Every call is served once, calls take what their tokens say, and held time agrees on a short load.

    How near it comes on longer loads is measured by the benchmark: time is no test on a shared machine.
    """
    tasks = lively.plan(5.0, seed=4, busy_per_s=1.5)
    service = lively.Service(policy())
    service.run(tasks)

    fitted = lively.fit(service)
    trial = lively.try_out(service, tasks, fitted, policy)

    assert trial.calls == 6 * len(tasks)
    assert len(service.cold_starts_s()) >= 1
    assert all(one.process.returncode is not None for one in service.replicas)
    assert all(call.arrived_s <= call.begun_s <= call.ended_s for call in service.calls)
    assert fitted.token_s * lively.TOKENS_PER_S > 0.8
    assert trial.held_error_ratio < 0.4
