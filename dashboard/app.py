"""The script that Streamlit runs for every page: head, navigation, then the page itself."""

from pathlib import Path

import streamlit as st

from dashboard.figures import is_simulated
from dashboard.screen import Screen, is_live, open_screen, range_picker
from dashboard.source import rows
from dashboard.words import say
from taximeter.errors import TaximeterError

HERE = Path(__file__).parent
PAGES = ("overview", "tasks", "task", "gpus", "advice", "health")


def main() -> None:
    """Draw the page that the address names."""
    st.set_page_config(say("general.title"), layout="wide", initial_sidebar_state="collapsed")
    st.html(HERE / "style.css")
    pages = [
        st.Page(HERE / "views" / f"{name}.py", title=say(f"nav.{name}"), url_path=name, default=not i)
        for i, name in enumerate(PAGES)
    ]
    page = st.navigation(pages, position="hidden")
    screen = open_screen()
    _head(pages, screen)
    range_picker(screen)
    try:
        simulated = is_simulated(rows(screen.source, "health"))
    except TaximeterError as error:
        st.error(str(error), title=say("general.failed_title"))
        st.stop()
    if simulated:
        st.info(say("general.simulated"))
    page.run()


def _head(pages: list[st.Page], screen: Screen) -> None:
    query = screen.range.query() | ({"live": "1"} if is_live() else {})
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.html(f'<span class="tx-brand">{say("general.title")}</span>', width="content")
        for page in pages:
            if page.url_path != "task":
                st.page_link(page, query_params=query)


if __name__ == "__main__":
    main()
