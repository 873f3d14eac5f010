"""What the browser tests share: Debian's Chromium, driven by Playwright."""

import os
import shutil
from pathlib import Path

CHROMIUM = (
    os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip
PATIENCE = 60_000  # milliseconds, on a busy machine
SCREENSHOTS = os.environ.get("EXPLORER_SCREENSHOTS")  # a folder, for whoever wants to look


def wait(page, expression):
    """Until a JavaScript expression holds. (Playwright's own way evaluates strings, which the page
    forbids.)"""
    for _ in range(PATIENCE // 100):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"in vain: {expression}\n{page.inner_text('body')[:2000]}")


def look(page, name):
    if SCREENSHOTS:
        page.screenshot(path=Path(SCREENSHOTS) / f"{name}.png", full_page=True)


def text(page, name):
    return page.evaluate(f"document.getElementById('{name}').textContent")


def slide(page, name, value):
    """Move a slider as a finger would."""
    page.evaluate(
        f"(() => {{ const slider = document.getElementById('{name}'); slider.value = {value};"
        " slider.dispatchEvent(new Event('input', { bubbles: true })); })()"
    )
