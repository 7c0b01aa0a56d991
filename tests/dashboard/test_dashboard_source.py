"""What the pages are handed."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from dashboard.source import SECTION, from_settings
from dashboard.testing import Served
from taximeter.settings import Collector, Dashboard, Settings, Token

Show = Callable[..., AppTest]


def test_the_endpoint_is_the_collector_of_the_settings() -> None:
    """What a visitor copies is where the collector listens."""
    source = from_settings(Settings(collector=Collector(http_port=14318, grpc_port=14317)), None)

    assert source.otlp_http_url == "http://127.0.0.1:14318"
    assert source.otlp_grpc_url == "http://127.0.0.1:14317"


@pytest.mark.parametrize(
    ("public_url", "host"), [(None, "127.0.0.1"), ("https://meter.example:8443/x", "meter.example")]
)
def test_any_address_is_no_address_to_send_to(public_url: str | None, host: str) -> None:
    """A collector on all addresses is shown by a name that a sender can reach."""
    settings = Settings(collector=Collector(host="0.0.0.0"), dashboard=Dashboard(public_url=public_url))

    assert from_settings(settings, None).otlp_http_url == f"http://{host}:4318"


def test_absent_values_are_not_handed_on() -> None:
    """A source without a token has no token entry, not an empty one."""
    assert "token" not in from_settings(Settings(), None).as_secrets()[SECTION]
    assert from_settings(Settings(), "t").as_secrets()[SECTION]["token"] == "t"


def test_a_token_is_named_by_its_variable_and_never_shown(show: Show, nothing: Served) -> None:
    """Where sending needs a token, the lines to copy name the variable; no token is on the page."""
    settings = Settings(tokens=[Token(env="MY_TOKEN")])
    source = from_settings(settings, "s3cret-token")._replace(warehouse_url=nothing[0].warehouse_url)
    app = show(source)

    code = "\n".join(block.value for block in app.code)
    assert 'OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer%20$MY_TOKEN"' in code
    assert "s3cret" not in str(app.main)
