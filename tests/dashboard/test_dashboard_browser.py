"""The pages in a real browser."""

import shutil
from collections.abc import Callable, Iterator

import pytest

pytest.importorskip("selenium")
from selenium import webdriver
from selenium.common.exceptions import ElementNotInteractableException, StaleElementReferenceException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
PATIENCE_S = 60


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    if not CHROMIUM or not DRIVER:
        pytest.skip("chromium and chromedriver are needed to look at the pages in a browser")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    profile = tmp_path_factory.mktemp("profile")
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-dev-shm-usage",
        "--window-size=1280,1600",
        f"--user-data-dir={profile}",
    ):
        options.add_argument(argument)
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


def seen(
    browser: webdriver.Chrome, selector: str, words: str, then: Callable[[WebElement], object] = id
) -> None:
    """Wait until an element with these words is seen, and do something with it; a redraw starts again."""

    def find(driver: webdriver.Chrome) -> bool:
        for element in driver.find_elements(By.CSS_SELECTOR, selector):
            if words in driver.execute_script("return arguments[0].innerText", element):
                then(element)
                return True
        return False

    redrawn = (StaleElementReferenceException, ElementNotInteractableException)
    WebDriverWait(browser, PATIENCE_S, ignored_exceptions=redrawn).until(find)


def test_the_overview_shows_the_multiplier(program: str, browser: webdriver.Chrome) -> None:
    """A visitor opens the first page and sees the multiplier, the idle dollars and that it is simulated."""
    browser.get(program)

    seen(browser, '[data-testid="stMetric"]', "10.0×")
    seen(browser, '[data-testid="stMetric"]', "$6.50")
    seen(browser, '[data-testid="stAlert"]', "Simulated data")
    seen(browser, ".js-plotly-plot", "context sent again")


def test_a_task_opens_from_the_overview(program: str, browser: webdriver.Chrome) -> None:
    """The dearest task's link leads to its page, with its trajectory drawn."""
    browser.get(f"{program}/?since=all")
    seen(browser, "table.tx a", "fix <the> parser", WebElement.click)

    seen(browser, '[data-testid="stMetric"]', "10.0 min")
    seen(browser, ".js-plotly-plot", "waiting for a tool")
    assert "task_id=aa01" in browser.current_url
    assert "since=all" in browser.current_url


def test_choosing_a_range_changes_the_address(program: str, browser: webdriver.Chrome) -> None:
    """The range that a visitor picks is in the address that they copy."""
    browser.get(program)
    seen(browser, "button", "7 days", WebElement.click)

    WebDriverWait(browser, PATIENCE_S).until(lambda driver: "since=7d" in driver.current_url)


def test_links_between_pages_keep_the_range(program: str, browser: webdriver.Chrome) -> None:
    """Going to another page stays in the chosen range."""
    browser.get(f"{program}/?since=7d")
    seen(browser, '[data-testid="stPageLink"] a', "GPUs", WebElement.click)

    seen(browser, "h3", "What each GPU did")
    assert browser.current_url.endswith("/gpus?since=7d")
