"""What a page shows when there is nothing to show: how to send a first trace, never a made-up number."""

import streamlit as st

from dashboard.screen import Screen
from dashboard.source import Source, rows
from dashboard.words import say


def nothing(screen: Screen) -> None:
    """Tell apart an empty range from an empty store, and help out of either."""
    if screen.range.since != "all" and _recorded(screen):
        st.info(say("general.empty_range_body"), title=say("general.empty_range_title"))
        st.html(f'<a target="_self" href="?since=all">{say("general.empty_range_link")}</a>')
        return
    _first_trace(screen)


def _recorded(screen: Screen) -> bool:
    return any(rows(screen.source, name) for name in ("spend", "gpus_now"))


def _first_trace(screen: Screen) -> None:
    st.subheader(say("empty.title"))
    st.write(say("empty.body"))
    st.caption(say("empty.env_http"))
    st.code(_exports(screen.source, screen.source.otlp_http_url, "http/protobuf"), language="bash")
    st.caption(say("empty.env_grpc"))
    st.code(_exports(screen.source, screen.source.otlp_grpc_url, "grpc"), language="bash")
    st.write(f"**{say('empty.import_title')}.** {say('empty.import_body')}")
    st.code("taximeter import recordings/", language="bash")
    st.write(f"**{say('empty.gpu_title')}.** {say('empty.gpu_body')}")
    st.code(f"taximeter agent --url {screen.source.otlp_http_url}", language="bash")


def _exports(source: Source, url: str, protocol: str) -> str:
    lines = [
        f"export OTEL_EXPORTER_OTLP_ENDPOINT={url}",
        f"export OTEL_EXPORTER_OTLP_PROTOCOL={protocol}",
    ]
    if source.write_token_env:
        bearer = f"authorization=Bearer%20${source.write_token_env}"
        lines.append(f'export OTEL_EXPORTER_OTLP_HEADERS="{bearer}"')
    return "\n".join(lines)
