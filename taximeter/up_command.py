"""`taximeter up`: the whole house on one machine."""

from pathlib import Path

from taximeter import house, settings
from taximeter.say import say

NAMES = ("collector", "warehouse", "alerts", "dashboard")


def run(config: Path | None, data: Path | None) -> None:
    """Start all programs, print one URL when they answer, and keep them until interrupted."""
    values = settings.load(config, data=data)
    with house.running(values, config, NAMES) as home:
        home.wait_for("the house", lambda: house.is_ready(values))
        say(
            f"Send traces to http://{values.collector.host}:{values.collector.http_port} (OTLP/HTTP) "
            f"or {values.collector.host}:{values.collector.grpc_port} (OTLP/gRPC); stop with Ctrl-C."
        )
        print(values.dashboard_url, flush=True)  # noqa: T201 - the result of this command
        home.tend_forever()
