"""Figures on a page in a real browser: what is drawn, told, hidden, magnified and saved."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from convexfs.report.figure import Figure
from convexfs.report.page import page_html
from convexfs.report.sections import drawn
from tests.browser import visit
from tests.typed import known

HOSTILE = "<img src=x onerror=alert(1)> & \x00 $x^2$"
SOLVERS = ["native", "SCS"]


def figures():
    """One figure of every kind."""
    times = pd.DataFrame({
        "solver": ["native"] * 4 + ["SCS"] * 4,
        "seconds": [1e-5, 1e-4, 1e-3, 1e-2, 1e-2, 1e-1, 1.0, 10.0],
        "share": [0.25, 0.5, 0.75, 1.0] * 2,
        "error": [1e-16, 1e-15, 1e-14, 1e-13, 1e-3, 1e-4, 1e-5, 1e-6],
        "low": [0.2, 0.4, 0.7, 0.9] * 2, "high": [0.3, 0.6, 0.8, 1.0] * 2,
        "count": [1, 2, 3, 4] * 2,
        "instance": [f"problem {k}" for k in range(8)],
        "wrong": [False] * 7 + [True],
        "panel": ["one", "two"] * 4,
    })  # fmt: skip
    names = pd.DataFrame({"name": [HOSTILE, "b", "b"], "weight": [2.0, 1.0, -0.5]})
    names["selected"] = [True, False, False]
    cells = pd.DataFrame(
        [(f"s{j}", f"f{k}", "AB"[j // 2], j - k) for j in range(4) for k in (1, 2)]
    )
    cells.columns = ["sample", "feature", "class", "value"]
    return [
        Figure("steps", "S", "steps", times, "seconds", "share", "s", "share", series="solver",
               log_x=True),
        Figure("lines", "L", "lines", times, "count", "error", "number", "error", series="solver",
               log_y=True),
        Figure("bands", "B", "bands", times, "count", "share", "number", "error", series="solver",
               low="low", high="high"),
        Figure("points", "P", "points", times, "seconds", "error", "seconds", "error",
               series="solver", log_x=True, log_y=True, hover="instance", mark="wrong",
               mark_label="wrong claim"),
        Figure("bars", "T", "bars", times, "seconds", "solver", "seconds", "", series="instance"),
        Figure("ranked", "R", "ranked", names, "weight", "name", "weight", "", mark="selected",
               mark_label="selected"),
        Figure("strips", "V", "strips", times, "solver", "share", "", "", series="solver",
               panel="panel", hover="instance"),
        Figure("heat", "H", "heat", cells, "sample", "feature", "", "", value="value",
               value_label="SD", group="class", limit=3.0),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("drawings") / "page.html"
    sections = [known(drawn(figure)) for figure in figures()]
    path.write_text(page_html("drawings", sections, SOLVERS))
    return path


@pytest.fixture(scope="module")
def page(browser, file):
    return visit(browser, file)


@pytest.mark.parametrize(
    ("name", "mark", "count"),
    [
        ("steps", "path.line", 2),
        ("lines", "path.line", 2),
        ("lines", ".point", 8),
        ("bands", "path.band", 2),
        ("points", ".point", 8),
        ("points", ".ringed", 1),
        ("bars", ".part", 8),
        ("ranked", ".part", 3),
        ("strips", ".point", 8),
        ("strips", "path.box", 4),
        ("heat", ".cells", 5),
    ],
)
def test_every_mark_is_drawn(page, name, mark, count):
    assert page.locator(f"#{name} .marks > {mark}").count() == count


def test_nothing_complains(page, file):
    assert page.trouble == []
    assert page.requests == [file.absolute().as_uri()]
    assert page.locator("img[src=x]").count() == 0


def ticks(page, name, axis):
    return page.locator(f"#{name} .{axis}tick text").all_text_contents()


def test_logarithmic_axes_have_powers_of_ten(page):
    assert ticks(page, "points", "x") == [
        f"10{p}" for p in ("⁻⁵", "⁻⁴", "⁻³", "⁻²", "⁻¹", "⁰", "¹")
    ]
    places = page.locator("#points .xtick text").evaluate_all(
        "all => all.map(t => +t.getAttribute('x'))"
    )
    np.testing.assert_allclose(np.diff(places), places[1] - places[0])
    assert ticks(page, "lines", "x") == ["1", "2", "3", "4"]
    assert ticks(page, "heat", "x") == ["A", "B"]


def test_points_lie_where_their_ticks_do(page):
    where = "all => all.map(own => own.getBoundingClientRect()).map(r => (r.left + r.right) / 2)"
    (first, *_) = page.locator("#points .point").evaluate_all(where)
    (tick, *_) = page.locator("#points .xtick text").evaluate_all(where)
    assert first == pytest.approx(tick, abs=1.0)


@pytest.mark.parametrize(
    ("name", "mark", "told"),
    [
        ("points", ".point >> nth=0", "problem 0\nnative\nseconds: 1.00e-5\nerror: 1.00e-16"),
        ("ranked", ".part >> nth=0", f"{HOSTILE}: 2".replace("\x00", "\ufffd")),
        ("bars", ".part >> nth=7", "SCS\nproblem 7: 10"),
        ("strips", ".point >> nth=0", "problem 0, native\none: 0.25"),
    ],
)
def test_the_pointer_is_told_what_a_mark_is(page, name, mark, told):
    page.locator(f"#{name} {mark}").hover(force=True)
    tip = page.locator(f"#{name} .tip")
    assert tip.is_visible()
    assert tip.evaluate("tip => tip.textContent").replace("\x00", "\ufffd") == told
    page.mouse.move(0, 0)
    assert not tip.is_visible()


def test_a_touch_tells_too(browser, file):
    phone = visit(browser, file, viewport={"width": 390, "height": 844}, has_touch=True)
    phone.locator("#points .point").first.tap(force=True)
    assert phone.locator("#points .tip").inner_text().startswith("problem 0")
    assert phone.evaluate("document.documentElement.scrollWidth") == 390


def test_keys_go_from_mark_to_mark(page):
    drawing = page.locator("#points svg")
    drawing.focus()
    for key, told in (("Right", "problem 0"), ("Right", "problem 1"), ("Left", "problem 0")):
        page.keyboard.press(f"Arrow{key}")
        assert page.locator("#points .tip").inner_text().startswith(told)
    page.keyboard.press("Escape")
    assert not page.locator("#points .tip").is_visible()


def test_the_legend_hides_a_series_and_shows_it_again(page):
    entry = page.locator("#points .entry", has_text="SCS")
    entry.click()
    assert (
        page.locator("#points .point").count() - page.locator("#points .entry .point").count() == 4
    )
    assert entry.get_attribute("aria-pressed") == "false"
    page.keyboard.press("Enter")
    assert entry.get_attribute("aria-pressed") == "true"
    assert page.locator("#points .marks .point").count() == 8


def test_a_drag_magnifies_and_a_double_click_goes_back(page):
    page.locator("#steps").scroll_into_view_if_needed()
    before = ticks(page, "steps", "x")
    box = known(page.locator("#steps .marks").bounding_box())
    left, top = box["x"] + 2, box["y"] + 2
    page.mouse.move(left, top)
    page.mouse.down()
    page.mouse.move(left + box["width"] / 3, top + box["height"] / 2, steps=3)
    page.mouse.up()
    assert ticks(page, "steps", "x") != before
    page.locator("#steps svg").dblclick(position={"x": 200, "y": 100})
    assert ticks(page, "steps", "x") == before


def test_zoom_ends_before_numbers_are_equal(page):
    drawing = page.locator("#bands svg")
    drawing.scroll_into_view_if_needed()
    for _ in range(25):
        box = known(drawing.bounding_box())
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 90)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] / 2 + 30, box["y"] + 120, steps=2)
        page.mouse.up()
    assert len(ticks(page, "bands", "y")) >= 2
    drawing.dblclick(position={"x": 200, "y": 100})
    assert page.trouble == []


def test_a_hostile_name_is_text(page):
    assert page.locator("#ranked .ytick text").first.text_content().startswith("<img src=x")


def test_a_drawing_is_the_same_each_time(page):
    marks = "[...document.querySelectorAll('#strips .marks')].map(own => own.outerHTML).join()"
    before = page.evaluate(marks)
    page.set_viewport_size({"width": 700, "height": 700})
    page.wait_for_function(f"old => {marks} !== old", arg=before)
    page.set_viewport_size({"width": 1280, "height": 720})
    page.wait_for_function(f"old => {marks} === old", arg=before)
    assert page.evaluate(marks) == before


@pytest.mark.parametrize("name", [figure.name for figure in figures()])
def test_a_figure_is_saved_as_svg(page, name):
    with page.expect_download() as caught:
        page.locator(f"#{name}").get_by_role("button", name="SVG").click()
    text = Path(caught.value.path()).read_text()
    assert "var(" not in text
    assert "color-mix" not in text
    assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"


def extreme_figures():
    """Figures of values that almost overflow or almost agree, and of names hard to draw."""
    values = pd.DataFrame({
        "close": [1.0, 1 + 2.3e-16, 1.0, 1 + 4.5e-16], "large": [-1.7e308, 1.7e308, 1e300, 0.0],
        "tiny": [5e-324, 1e-320, 1e-300, 1.0], "far": [1e16, 1e16 + 2, 1e16 + 4, 1e16],
        "name": [f"{k} class of a long name" for k in range(4)], "control": ["a\x01b\x1b"] * 4,
        "infinite": [np.inf, -np.inf, 1.0, 2.0],
    })  # fmt: skip
    points = [
        Figure(f"{x}-{log}", x, "points", values, x, x, "", "", log_x=log, log_y=log)
        for x in ("close", "large", "tiny")
        for log in (False, True)
    ]
    cells = pd.DataFrame(
        [(f"{k} class of a long name", "a\x01b\x1b", k) for k in range(40)], columns=["x", "y", "z"]
    )
    return [
        *points,
        Figure("close-bands", "B", "bands", values, "far", "infinite", "", "", low="far",
               high="large"),
        Figure("infinite", "I", "strips", values, "name", "infinite", "", "", series="name",
               panel="control", hover="name"),
        Figure("turned", "T", "heat", cells, "x", "y", "", "", value="z"),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def extreme(browser, tmp_path_factory):
    path = tmp_path_factory.mktemp("extremes") / "page.html"
    sections = [known(drawn(figure)) for figure in extreme_figures()]
    path.write_text(page_html("extremes", sections, SOLVERS))
    return visit(browser, path)


@pytest.mark.parametrize("figure", extreme_figures(), ids=lambda figure: figure.name)
def test_extreme_values_and_names_are_drawn_inside_the_figure(extreme, figure):
    drawing = extreme.locator(f"#{figure.name} svg")
    outside = """svg => [...svg.querySelectorAll('text')].filter(text => {
        const [own, all] = [text.getBoundingClientRect(), svg.getBoundingClientRect()];
        return own.left < all.left - 1 || own.right > all.right + 1;
    }).map(text => text.textContent)"""
    assert drawing.evaluate(outside) == []
    text = drawing.evaluate("svg => svg.outerHTML")
    assert "NaN" not in text
    assert "Infinity" not in text
    with extreme.expect_download() as caught:
        extreme.locator(f"#{figure.name}").get_by_role("button", name="SVG").click()
    ElementTree.fromstring(Path(caught.value.path()).read_text())
    assert extreme.trouble == []


def test_a_figure_is_saved_as_png(page):
    with page.expect_download() as caught:
        page.locator("#heat").get_by_role("button", name="PNG").click()
    assert Path(caught.value.path()).read_bytes().startswith(b"\x89PNG")
    assert caught.value.suggested_filename == "heat.png"
    assert page.trouble == []
