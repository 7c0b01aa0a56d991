"""Policy files: YAML that names policies and the fleet they scale, checked against a schema."""

from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from planner.fleet import Billing, ColdStart, Delay, Fleet, Pool
from planner.policies.agent_autoscale import read_scale_down, read_scale_up
from taximeter.errors import BadInputError


class Section(BaseModel):
    """A part of the file; an unknown key is an error, not a shrug."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Bounds(Section):
    """The fewest and most replicas; the most is taken from the recording where it is not given."""

    min_replicas: int = Field(default=1, ge=0)
    max_replicas: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _in_order(self) -> "Bounds":
        if self.max_replicas is not None and self.max_replicas < self.min_replicas:
            message = "max_replicas is less than min_replicas"
            raise ValueError(message)
        return self


class FixedBlock(Section):
    """A number of replicas that never changes."""

    replicas: int = Field(ge=0)


class HpaBlock(Bounds):
    """Kubernetes HPA on calls in the system per replica; `target` is the concurrency where not given."""

    target: float | None = Field(default=None, gt=0)
    tolerance: float = Field(default=0.1, ge=0)
    stabilize_down_s: float = Field(default=300.0, ge=0)
    stabilize_up_s: float = Field(default=0.0, ge=0)


class KedaBlock(Bounds):
    """KEDA on calls in the system; `threshold` is the concurrency where not given."""

    threshold: float | None = Field(default=None, gt=0)
    activation_threshold: float = Field(default=0.0, ge=0)
    polling_interval_s: float = Field(default=30.0, gt=0)
    cooldown_s: float = Field(default=300.0, ge=0)
    initial_cooldown_s: float = Field(default=0.0, ge=0)
    min_replicas: int = Field(default=0, ge=0)
    fallback_replicas: int | None = Field(default=None, ge=0)
    failure_threshold: int = Field(default=3, ge=1)


class KnativeBlock(Bounds):
    """Knative KPA; `target_concurrency` is the replica's concurrency where not given."""

    target_concurrency: float | None = Field(default=None, gt=0)
    target_utilization: float = Field(default=0.7, gt=0, le=1)
    stable_window_s: float = Field(default=60.0, gt=0)
    panic_window_ratio: float = Field(default=0.1, gt=0, le=1)
    panic_threshold_ratio: float = Field(default=2.0, gt=0)
    scale_down_delay_s: float = Field(default=0.0, ge=0)
    grace_s: float = Field(default=30.0, ge=0)
    min_replicas: int = Field(default=0, ge=0)


class RayServeBlock(Bounds):
    """Ray Serve's autoscaling_config; its own default target is 2 ongoing requests."""

    target_ongoing_requests: float = Field(default=2.0, gt=0)
    look_back_period_s: float = Field(default=30.0, gt=0)
    upscale_delay_s: float = Field(default=30.0, ge=0)
    downscale_delay_s: float = Field(default=600.0, ge=0)
    downscale_to_zero_delay_s: float | None = Field(default=None, ge=0)
    upscaling_factor: float = Field(default=1.0, gt=0)
    downscaling_factor: float = Field(default=1.0, gt=0)


class SkyServeBlock(Bounds):
    """SkyServe; the queries per second of a replica are its concurrency over a call's mean where not given.

    With `spot`, the fleet's second pool is spot and its first is on demand.
    """

    target_qps_per_replica: float | None = Field(default=None, gt=0)
    qps_window_s: float = Field(default=60.0, gt=0)
    upscale_delay_s: float = Field(default=300.0, ge=0)
    downscale_delay_s: float = Field(default=1_200.0, ge=0)
    spot: bool = False
    num_overprovision: int = Field(default=0, ge=0)
    base_ondemand_fallback: int = Field(default=0, ge=0)
    dynamic_ondemand_fallback: bool = True


class QueueLengthBlock(Bounds):
    """A target of waiting calls per replica."""

    target: float = Field(default=1.0, gt=0)
    tick_s: float = Field(default=10.0, gt=0)
    down_after_s: float = Field(default=60.0, ge=0)
    min_replicas: int = Field(default=0, ge=0)


class TokenRateBlock(Bounds):
    """A target of tokens per second per replica, what a full replica did in the recording where not given."""

    tokens_per_s_per_replica: float | None = Field(default=None, gt=0)
    window_s: float = Field(default=30.0, gt=0)
    tick_s: float = Field(default=10.0, gt=0)
    up_tolerance: float = Field(default=0.1, ge=0)
    down_tolerance: float = Field(default=0.1, ge=0)
    down_window_s: float = Field(default=300.0, ge=0)


class ProfileRow(Section):
    """How long steps of a name usually take; `step` is a glob, and the first that matches holds."""

    step: str
    duration_p50_s: float = Field(ge=0)


class AgentAutoscaleBlock(Bounds):
    """Up on a breached limit, down when idle; what the first lines leave open has defaults below them."""

    scale_up: str = "p95_latency > 800ms"
    scale_down: str = "idle > 60s"
    min_replicas: int = Field(default=0, ge=0)
    per_step_profile: bool | list[ProfileRow] = False
    wake: Literal["arrival", "none"] | None = None
    window_s: float = Field(default=60.0, gt=0, le=600)
    min_samples: int = Field(default=20, ge=1)
    breaches: int = Field(default=3, ge=1)
    tick_s: float = Field(default=5.0, gt=0)
    step: int = Field(default=1, ge=1)

    @model_validator(mode="after")
    def _understood(self) -> "AgentAutoscaleBlock":
        try:
            read_scale_up(self.scale_up)
            read_scale_down(self.scale_down)
        except BadInputError as error:
            raise ValueError(str(error)) from None
        return self


class PrewarmBlock(Bounds):
    """Starts a replica half a call before a task is expected back; profiles are measured where not given."""

    idle_s: float = Field(default=60.0, ge=0)
    min_replicas: int = Field(default=0, ge=0)
    profiles: list[ProfileRow] | None = None


Block = (
    FixedBlock
    | HpaBlock
    | KedaBlock
    | KnativeBlock
    | RayServeBlock
    | SkyServeBlock
    | QueueLengthBlock
    | TokenRateBlock
    | AgentAutoscaleBlock
    | PrewarmBlock
)


class Blocks(Section):
    """One policy: exactly one of these."""

    fixed: FixedBlock | None = None
    hpa: HpaBlock | None = None
    keda: KedaBlock | None = None
    knative: KnativeBlock | None = None
    ray_serve: RayServeBlock | None = None
    skyserve: SkyServeBlock | None = None
    queue_length: QueueLengthBlock | None = None
    token_rate: TokenRateBlock | None = None
    agent_autoscale: AgentAutoscaleBlock | None = None
    prewarm: PrewarmBlock | None = None

    def kinds(self) -> list[str]:
        """List the policies that are given here."""
        return [kind for kind in KINDS if getattr(self, kind) is not None]


KINDS = tuple(Blocks.model_fields)


class NamedBlocks(Blocks):
    """A policy with a name of its own in results."""

    name: str | None = None

    @model_validator(mode="after")
    def _one(self) -> "NamedBlocks":
        if len(self.kinds()) != 1:
            message = f"a policy is exactly one of {', '.join(KINDS)}"
            raise ValueError(message)
        return self

    def block(self) -> tuple[str, Block]:
        """Give the kind and its settings."""
        kind = self.kinds()[0]
        return kind, getattr(self, kind)


class ColdStartBlock(Section):
    """Seconds from asked to serving: median and 95th percentile of a full load, and of a wake from sleep."""

    p50_s: float = Field(ge=0)
    p95_s: float | None = Field(default=None, ge=0)
    hot_p50_s: float | None = Field(default=None, ge=0)
    hot_p95_s: float | None = Field(default=None, ge=0)
    hot_for_s: float = Field(default=0.0, ge=0)
    billed: bool = True

    def cold_start(self) -> ColdStart:
        """Make what the replay draws from."""
        hot = None
        if self.hot_p50_s is not None and self.hot_for_s > 0:
            hot = Delay(self.hot_p50_s, max(self.hot_p95_s or 0.0, self.hot_p50_s))
        full = Delay(self.p50_s, max(self.p95_s or 0.0, self.p50_s))
        return ColdStart(full, hot, self.hot_for_s, self.billed)


class BillingBlock(Section):
    """What the provider rounds up to, and the least it charges each time."""

    grain_s: float = Field(default=1.0, gt=0)
    minimum_s: float = Field(default=0.0, ge=0)


class PoolBlock(Section):
    """One more kind of card behind the deployment; `speed` 2 serves a step in half the recorded time."""

    name: str
    usd_per_gpu_hour: Decimal | None = Field(default=None, ge=0)
    concurrency: int | None = Field(default=None, ge=1)
    most: int = Field(default=1_000, ge=0)
    speed: float = Field(default=1.0, gt=0)
    preempted_per_hour: float = Field(default=0.0, ge=0)
    cold_start: ColdStartBlock | None = None
    billing: BillingBlock | None = None


class FleetBlock(Section):
    """What is scaled; what is not given comes from the recording and the settings. Pools fill in order."""

    concurrency: int | None = Field(default=None, ge=1)
    gpus_per_replica: int | None = Field(default=None, ge=1)
    usd_per_gpu_hour: Decimal | None = Field(default=None, ge=0)
    most: int = Field(default=1_000, ge=0)
    cold_start: ColdStartBlock | None = None
    billing: BillingBlock = BillingBlock()
    pools: list[PoolBlock] = []
    scrape_lag_s: float = Field(default=0.0, ge=0)
    seed: int = 1


class PolicyFile(Blocks):
    """A whole file: policies at its top, each once, or a list of them with names, and the fleet."""

    policies: list[NamedBlocks] = []
    fleet: FleetBlock = FleetBlock()

    def all(self) -> list[NamedBlocks]:
        """List the policies, those at the top first."""
        top = [NamedBlocks.model_validate({kind: getattr(self, kind)}) for kind in self.kinds()]
        return top + list(self.policies)


def read_yaml(file: Path) -> dict[str, Any]:
    """Read a policy file as it is written, unchecked.

    Raises:
        BadInputError: it is missing, not YAML, or no mapping.
    """
    try:
        written = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as error:
        message = f"{file}: {error.strerror}"
        raise BadInputError(message) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        message = f"{file} is not YAML: {str(error).splitlines()[0]}"
        raise BadInputError(message) from None
    if not isinstance(written, dict) or not written:
        message = f"{file} must hold policies, such as agent_autoscale"
        raise BadInputError(message)
    return written


def check(written: dict[str, Any], source: str) -> PolicyFile:
    """Check what was read.

    Raises:
        BadInputError: a key or a value cannot be; the text names the first.
    """
    try:
        found = PolicyFile.model_validate(written)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        told = first["msg"].removeprefix("Value error, ")
        message = f"{source}: {where}: {told}" if where else f"{source}: {told}"
        raise BadInputError(message) from None
    if not found.all():
        message = f"{source} holds no policy; there are {', '.join(KINDS)}"
        raise BadInputError(message)
    return found


def json_schema() -> dict[str, Any]:
    """Describe policy files as a JSON schema, for editors and for checks."""
    schema = PolicyFile.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "policy.yaml"} | schema


class Known(Section):
    """What is known of the fleet besides the file: from the recording and the settings."""

    concurrency: int | None = None
    gpus_per_replica: int | None = None
    usd_per_gpu_hour: Decimal | None = None


# One published measurement of a 32B model on one H100, without a sleeping copy; used where nothing is said.
ASSUMED_COLD_START_S = 85.3


def make_fleet(block: FleetBlock, known: Known) -> tuple[Fleet, list[str]]:
    """Make the fleet, and say what had to be assumed.

    Raises:
        BadInputError: nobody says how many steps a replica serves at once.
    """
    concurrency = block.concurrency or known.concurrency
    if concurrency is None:
        message = (
            "nobody says how many steps a replica serves at once: set fleet.concurrency or --concurrency"
        )
        raise BadInputError(message)
    gpus = block.gpus_per_replica or known.gpus_per_replica or 1
    price = block.usd_per_gpu_hour if block.usd_per_gpu_hour is not None else known.usd_per_gpu_hour
    assumed = []
    if block.cold_start is None:
        assumed.append(
            f"cold start assumed: {ASSUMED_COLD_START_S:g} s, billed, never hot (see fleet.cold_start)"
        )
    start = (block.cold_start or ColdStartBlock(p50_s=ASSUMED_COLD_START_S)).cold_start()
    billing = Billing(block.billing.grain_s, block.billing.minimum_s)
    first = Pool(
        "own", concurrency, None if price is None else price * gpus, gpus, block.most, 1.0, start, billing
    )
    pools = [first]
    for extra in block.pools:
        usd = extra.usd_per_gpu_hour
        pools.append(
            Pool(
                extra.name,
                extra.concurrency or concurrency,
                None if usd is None else usd * gpus,
                gpus,
                extra.most,
                extra.speed,
                extra.cold_start.cold_start() if extra.cold_start else start,
                Billing(extra.billing.grain_s, extra.billing.minimum_s) if extra.billing else billing,
                extra.preempted_per_hour,
            )
        )
    return Fleet(tuple(pools), block.scrape_lag_s, block.seed), assumed
