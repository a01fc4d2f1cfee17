"""Settings of all tests."""

import os
import shutil
import signal
from collections import Counter

import pytest
from hypothesis import settings

# The first example may compile a kernel, which takes seconds. New examples are for people to
# find; where CI is set, a change is judged by the same ones as the last.
settings.register_profile("patient", deadline=None, max_examples=50, derandomize="CI" in os.environ)
settings.load_profile("patient")

# A shell's background job ignores Ctrl-C, and so would all that these tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark the tests that open pages, and keep the first cases of slow functions in every tier."""
    seen = Counter()
    for item in items:
        if "browser" in item.fixturenames:
            item.add_marker("browser")
        for slow in [mark for mark in item.own_markers if mark.name == "slow"]:
            function = item.nodeid.partition("[")[0]
            seen[function] += 1
            if seen[function] <= slow.kwargs.get("cases", 0):
                item.own_markers.remove(slow)


@pytest.fixture(scope="module")
def browser():
    """A real browser to open pages in."""
    reason = "playwright, of the dev extra, drives the browser"
    api = pytest.importorskip("playwright.sync_api", reason=reason)
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no chromium to open the page in (Debian: apt install chromium)")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()
