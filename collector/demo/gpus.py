"""Samples the simulated cards with the real sampler, and sends them the real agent's way."""

from collections.abc import Mapping

from collector.agent.otlp import SERVICE, encode
from collector.agent.outbox import Outbox
from collector.agent.sampler import Sample, Sampler
from collector.demo.cards import SimulatedCards
from collector.demo.fleet import Deployment
from collector.demo.story import Story
from taximeter.clock import Clock

SIMULATED = "taximeter.simulated"


class Hosts:
    """All hosts of the story, each with a sampler of its own."""

    def __init__(
        self,
        told: Story,
        deployments: Mapping[str, Deployment],
        clock: Clock,
        start_ns: int,
        interval_s: float,
    ) -> None:
        self._samplers: dict[str, Sampler] = {}
        self.pending: dict[str, list[Sample]] = {}
        for deployment in deployments.values():
            cards = SimulatedCards(deployment, clock, start_ns, interval_s)
            sampler = Sampler(cards, clock, process_interval_s=told.process_interval_s, tell=_say_nothing)
            sampler.start()
            self._samplers[deployment.fleet.host] = sampler

    def sample(self) -> None:
        """Look at every card of every host once, now."""
        for host, sampler in self._samplers.items():
            self.pending.setdefault(host, []).extend(sampler.sample())

    def send(self, outbox: Outbox) -> None:
        """Queue what was sampled, one request a host."""
        for host, samples in self.pending.items():
            resource: dict[str, str | bool] = {"host.name": host, "service.name": SERVICE, SIMULATED: True}
            outbox.put(encode(samples, resource))
        self.pending = {}


def _say_nothing(_: str) -> None:
    """What the sampler would tell a person of this machine is part of the story here."""
