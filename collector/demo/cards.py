"""Simulated cards behind the sampler's own binding: busy exactly while the replica they belong to works."""

from collector.agent.binding import Card, DriverError, Handle, Memory, Process, Utilization
from collector.demo.fleet import Deployment, Replica
from taximeter.clock import NS_PER_S, Clock

_LOST = 15  # the driver's own code for a card that fell off the bus
_MIB = 1 << 20
_FIRST_PID = 41_000


class SimulatedCards:
    """The driver of one simulated host. Times of the replicas count from `start_ns` of the clock."""

    def __init__(self, deployment: Deployment, clock: Clock, start_ns: int, interval_s: float) -> None:
        self._deployment = deployment
        self._fleet = deployment.fleet
        self._clock = clock
        self._start_ns = start_ns
        self._period_ns = round(interval_s * NS_PER_S)

    def start(self) -> None:
        """Connect: simulated cards are always there."""

    def stop(self) -> None:
        """Let go: nothing is held."""

    def count(self) -> int:
        """Cards of this host, a lost one included."""
        return self._fleet.cards

    def handle(self, index: int) -> Handle:
        """Open a card; its index is its handle."""
        self._check(index, "handle")
        return index

    def card(self, handle: Handle, index: int) -> Card:
        """Say who a card is."""
        self._check(handle, "card")
        bus_id = f"00000000:{0x1B + 0x10 * index:02X}:00.0"
        return Card(self._fleet.uuids[handle], bus_id, index, self._fleet.card)

    def utilization(self, handle: Handle) -> Utilization:
        """Say which share of the period before now the replica worked."""
        now_ns = self._check(handle, "utilization")
        replica = self._replica(handle)
        worked_ns = replica.worked_ns(now_ns) - replica.worked_ns(now_ns - self._period_ns)
        percent = -(-100 * worked_ns // self._period_ns)  # a moment of work is no idle period
        return Utilization(percent, percent * 2 // 5)

    def memory(self, handle: Handle) -> Memory:
        """Say that the model's weights and cache are there, or nothing."""
        self._check(handle, "memory")
        fleet = self._fleet
        return Memory(fleet.total_mib * _MIB, fleet.used_mib * _MIB, fleet.reserved_mib * _MIB)

    def power_mw(self, handle: Handle) -> int:
        """Say what it drew on average over the period before now."""
        now_ns = self._check(handle, "power")
        used_mj = self._energy_mj(handle, now_ns) - self._energy_mj(handle, now_ns - self._period_ns)
        return round(used_mj * NS_PER_S / self._period_ns)

    def power_limit_mw(self, handle: Handle) -> int:
        """Say what it may draw at most."""
        self._check(handle, "power_limit")
        return self._fleet.limit_w * 1000

    def energy_mj(self, handle: Handle) -> int:
        """Say what it drew since the day began."""
        return round(self._energy_mj(handle, self._check(handle, "energy")))

    def is_split(self, handle: Handle) -> bool:
        """Say that no card is cut."""
        self._check(handle, "is_split")
        return False

    def processes(self, handle: Handle) -> list[Process]:
        """List the server that holds the model, or nobody."""
        self._check(handle, "processes")
        if not self._fleet.models:
            return []
        replica = handle // self._fleet.per_replica
        return [Process(_FIRST_PID + replica, self._fleet.used_mib * _MIB)]

    def _replica(self, card: int) -> Replica:
        return self._deployment.replicas[card // self._fleet.per_replica]

    def _energy_mj(self, card: int, at_ns: int) -> float:
        fleet = self._fleet
        worked_ns = self._replica(card).worked_ns(at_ns)
        return (fleet.idle_w * at_ns + (fleet.busy_w - fleet.idle_w) * worked_ns) / (NS_PER_S / 1000)

    def _check(self, card: int, call: str) -> int:
        """Nanoseconds since the start of the day, if the card answers at all."""
        now_ns = self._clock.now_ns() - self._start_ns
        lost = self._fleet.lost
        if lost and lost.card == card and lost.holds(now_ns / NS_PER_S):
            raise DriverError(_LOST, call)
        return now_ns
