"""The page in a real browser: it opens by itself, and everything on it works."""

import csv
import importlib.util
import json
from io import StringIO
from pathlib import Path

import pandas as pd
import pytest

from convexfs.study.outcomes import outcomes
from convexfs.study.page import gather
from tests.report.pages import assert_same, frame_of, numbers_in

pytest.importorskip("playwright", reason="playwright, of the dev extra, drives the browser")
from playwright.sync_api import expect

from tests.browser import DRAWN, visit
from tests.typed import known

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture(scope="module")
def page_file(run):
    return gather(run).write()


@pytest.fixture(scope="module")
def opened(browser, page_file):
    """One tab for all tests that leave it as it was."""
    return visit(browser, page_file)


@pytest.fixture
def rows(opened):
    """The table of all tasks, with no filter and on its first page."""
    table = opened.locator("#rows")
    for filled in table.locator("tr.filters input").all():
        filled.fill("")
    table.get_by_label("Rows a page").select_option("25")
    return table


def column(rows, label):
    """The cells of a column as shown."""
    labels = rows.locator("thead tr").first.locator("th").all_inner_texts()
    return rows.locator(f"tbody td:nth-child({labels.index(label) + 1})").all_inner_texts()


def test_it_opens_without_complaint_or_request(opened, page_file):
    assert opened.trouble == []
    assert opened.requests == [page_file.absolute().as_uri()]


def test_every_figure_is_drawn(opened):
    figures = opened.locator("[data-figure]").all()
    assert len(figures) >= 5
    for figure in figures:
        assert figure.locator(".marks > *").count() > 0
        assert figure.locator(".plot svg").get_attribute("aria-label")


def test_another_panel_draws_another_picture(opened):
    figure = opened.locator("#selected-features")
    before = figure.locator(".plot svg").inner_html()
    figure.locator("select").select_option(index=7)
    opened.wait_for_timeout(300)
    assert figure.locator(".plot svg").inner_html() != before


def test_headings_sort_by_click_and_by_key(run, rows):
    seconds = outcomes(run)["solve_seconds"]
    heading = rows.locator('th[data-column="solve_seconds"]')
    heading.locator("button").click()
    expect(heading).to_have_attribute("aria-sort", "descending")
    largest = rows.evaluate("host => host.querySelector('tbody tr td:nth-child(9)').textContent")
    assert largest == column(rows, "solve")[0] != ""
    heading.locator("button").press("Enter")
    expect(heading).to_have_attribute("aria-sort", "ascending")
    # What is missing comes last, so the least of all is on top.
    assert column(rows, "solve")[0] == shown_seconds(seconds.min())
    assert rows.locator('th[aria-sort="ascending"]').count() == 1


def shown_seconds(seconds):
    unit, factor = ("µs", 1e6) if seconds < 1e-3 else ("ms", 1e3) if seconds < 1 else ("s", 1.0)
    return f"{float(f'{seconds * factor:.3g}'):g} {unit}"


@pytest.mark.parametrize(
    ("name", "text", "chosen"),
    [
        ("solver", "clar", lambda frame: frame["solver"] == "CLARABEL"),
        ("error", "<1e-8", lambda frame: frame["error"] < 1e-8),
        ("error", "1e-9..1e-3", lambda frame: frame["error"].between(1e-9, 1e-3)),
        ("failure", "onerror", lambda frame: frame["failure"].str.contains("onerror")),
        ("outcome", "nothing like it", lambda frame: frame["outcome"] == ""),
    ],
)
def test_filters_keep_what_they_say(run, rows, name, text, chosen):
    expected = int(chosen(outcomes(run)).sum())
    labels = (
        rows.locator("thead tr")
        .first.locator("th")
        .evaluate_all("headings => headings.map(heading => heading.dataset.column)")
    )
    rows.locator("tr.filters input").nth(labels.index(name)).fill(text)
    assert rows.locator("tbody tr").count() == min(expected, 25)
    assert f"(of {len(outcomes(run))} rows)" in rows.locator("[role=status]").inner_text()


def test_pages_turn(run, rows):
    total = len(outcomes(run))
    assert 25 < total < 50
    assert rows.locator("tbody tr").count() == 25
    rows.get_by_title("Next page").click()
    assert rows.locator("tbody tr").count() == total - 25
    assert rows.get_by_title("Next page").is_disabled()
    expect(rows.locator("[role=status]")).to_have_text(f"26–{total} of {total}")
    rows.get_by_label("Rows a page").select_option("100")
    assert rows.locator("tbody tr").count() == total


def test_columns_can_be_shown(rows):
    assert rows.locator('th[data-column="key"]').count() == 0
    rows.get_by_text("Columns").click()
    rows.get_by_label("key", exact=True).check()
    assert rows.locator('th[data-column="key"]').count() == 1


def test_downloads_are_the_numbers_of_the_study(run, opened):
    frame = outcomes(run)
    with opened.expect_download() as caught:
        opened.get_by_text("all tasks, CSV").click()
    read = list(csv.DictReader(StringIO(Path(caught.value.path()).read_text(), newline="")))
    assert [row["key"] for row in read] == frame["key"].tolist()
    for name in ("objective", "solve_seconds", "error"):
        numbers = [float(row[name]) if row[name] else None for row in read]
        assert numbers == frame[name].astype(object).where(frame[name].notna(), None).tolist()
    with opened.expect_download() as caught:
        opened.get_by_text("all tables, JSON").click()
    everything = json.loads(Path(caught.value.path()).read_text())
    assert [row["key"] for row in everything["rows"]] == frame["key"].tolist()


def test_filtered_rows_are_downloaded_alone(rows, opened):
    rows.get_by_label("Filter solver").fill("native")
    with opened.expect_download() as caught:
        rows.get_by_role("button", name="CSV").click()
    assert set(pd.read_csv(caught.value.path())["solver"]) == {"native"}


def colours(tab):
    ground = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    words = tab.locator(".xtick text").first.evaluate("own => getComputedStyle(own).fill")
    return ground, words


def test_figures_follow_the_theme(browser, page_file, opened):
    light = colours(opened)
    opened.get_by_text("Dark", exact=True).click()
    changed = "old => getComputedStyle(document.querySelector('.xtick text')).fill !== old"
    opened.wait_for_function(changed, arg=light[1])
    dark = colours(opened)
    assert light[0] != dark[0]
    opened.get_by_text("Light", exact=True).click()
    # A reader whose system is dark gets the same without a click, on a small screen too.
    phone = visit(browser, page_file, color_scheme="dark", viewport={"width": 390, "height": 844})
    assert colours(phone) == dark
    assert phone.evaluate("document.documentElement.scrollWidth") == 390


def test_paper_shows_everything_and_no_buttons(opened, rows):
    opened.emulate_media(media="print")
    opened.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert opened.locator("details.problem:not([open])").count() == 0
    assert not opened.locator("#theme").is_visible()
    assert not rows.locator(".pager").is_visible()
    assert rows.locator("tbody tr").count() > 25
    opened.emulate_media(media="screen")
    opened.evaluate("dispatchEvent(new Event('afterprint'))")
    assert rows.locator("tbody tr").count() == 25


def test_mathematics_is_laid_out(opened):
    box = opened.locator("math").first.bounding_box()
    assert box is not None
    assert box["height"] > 60


def test_many_rows_open_quickly(browser, tmp_path):
    """The processor time of the page's own thread, which other work does not lengthen."""
    file = SCRIPTS / "benchmarks" / "bench_report.py"
    spec = known(importlib.util.spec_from_file_location("bench_report", file))
    bench = importlib.util.module_from_spec(spec)
    known(spec.loader).exec_module(bench)
    bench.make_run(tmp_path, 1000)
    file = gather(tmp_path).write()
    assert_same(numbers_in(file.read_text())["tables"]["rows"], outcomes(tmp_path))
    context = browser.new_context()
    tab = context.new_page()
    metrics = context.new_cdp_session(tab)
    metrics.send("Performance.enable", {"timeDomain": "threadTicks"})
    tab.goto(file.as_uri())
    tab.wait_for_selector(DRAWN, state="attached", timeout=60_000)
    found = {m["name"]: m["value"] for m in metrics.send("Performance.getMetrics")["metrics"]}
    assert found["TaskDuration"] < 5
    assert tab.locator("#rows tbody tr").count() == 25
    assert (
        frame_of(numbers_in(file.read_text())["figures"]["accuracy-time"]["table"]).shape[0] <= 1500
    )
