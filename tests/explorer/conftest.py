"""One explorer for all tests: a server of its own, on any free port, ended with the tests."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator

import httpx
import pytest
from browsing import CHROMIUM, FLAGS, PATIENCE

pytest.importorskip("fastapi")
pytest.importorskip("plotly")
READY_WITHIN = 180  # seconds, on a busy machine that compiles everything anew


class Explorer:
    """A running server: where it is, and what it is."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "dotphase", "explore", "--no-open", "--port", "0"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ)
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        found = re.search(r"http://[^/]+/", line)
        assert found, line
        self.address = found[0]

    def client(self, name: str = "test") -> httpx.Client:
        return httpx.Client(base_url=self.address, timeout=120, headers={"client": name})

    def wait(self) -> None:
        with self.client() as client:
            for _ in range(READY_WITHIN * 5):
                if client.get("/api/about").json()["ready"]:
                    return
                time.sleep(0.2)
        raise AssertionError("the explorer does not get ready")


@pytest.fixture(scope="session")
def explorer() -> Iterator[Explorer]:
    yield from served()


@pytest.fixture
def another_explorer() -> Iterator[Explorer]:
    """One that a test may end."""
    yield from served()


def served() -> Iterator[Explorer]:
    server = Explorer()
    try:
        server.wait()
        yield server
    finally:
        server.process.terminate()
        server.process.wait(120)
        server.process.stderr.close()


@pytest.fixture(scope="module")
def browser() -> Iterator:
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="the Python package playwright is not installed"
    )
    if CHROMIUM is None:
        pytest.skip("there is no Chromium here (apt-get install chromium)")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def opened(browser) -> Iterator:
    """Open an address in a fresh profile; after the test, no page may have complained."""
    complaints, contexts = [], []

    def page_at(address, **options):
        context = browser.new_context(**{"viewport": {"width": 1400, "height": 1000}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on(
            "console",
            lambda m: complaints.append(m.text) if m.type in ("error", "warning") else None,
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(address)
        return page

    yield page_at
    for context in contexts:
        context.close()
    assert complaints == []
