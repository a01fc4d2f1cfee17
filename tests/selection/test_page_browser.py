"""The page of a selection in a real browser."""

import csv
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from convexfs import load, select
from convexfs.data import make_dataset
from convexfs.report.figure import Figure
from convexfs.report.page import page_html
from convexfs.report.sections import drawn
from tests.browser import visit
from tests.selection.tables import HOSTILE, HOSTILE_CLASSES, genes, write_genes
from tests.typed import known

#: What each page is made from: data, method and more.
PAGES = {
    "wide": ({"size": (60, 300)}, "relief", {}),
    "three": (
        {"size": (60, 20), "classes": ("basal", "luminal A", "HER2")}, "logo",
        {"settings": {"lam": 1.0}},
    ),
    "nothing": ({"size": (40, 30), "shift": 0.0}, "relief", {}),
    "llfs": ({"size": (30, 6)}, "llfs", {"settings": {"betas": 3}}),
    "lfe": ({"size": (40, 8)}, "lfe", {}),
    "stability": ({"size": (40, 30)}, "relief", {"rule": "stability", "top": 3}),
    "hostile": (
        {"size": (60, len(HOSTILE)), "names": HOSTILE, "classes": HOSTILE_CLASSES}, "relief", {}
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A function that makes the page of a name once: its file, and the selection."""
    made, folder = {}, tmp_path_factory.mktemp("pages")

    def page(name):
        if name not in made:
            options, method, asked = PAGES[name]
            table = write_genes(folder / f"{name}.csv", *options["size"], **_without_size(options))
            found = select(load(table, "status", id="patient"), method, **asked)
            found.to_html(folder / f"{name}.html")
            made[name] = folder / f"{name}.html", found
        return made[name]

    return page


def _without_size(options):
    return {key: value for key, value in options.items() if key != "size"}


@pytest.fixture(scope="module")
def tab(browser, page):
    """A function that opens the page of a name in a tab, once."""
    tabs = {}

    def tab(name):
        if name not in tabs:
            tabs[name] = visit(browser, page(name)[0])
        return tabs[name]

    return tab


def test_a_target_of_numbers_is_drawn_along_it(browser, tmp_path):
    X = np.random.default_rng(0).standard_normal((50, 6))
    measured = make_dataset(X, X[:, 0] + 0.5 * X[:, 1], target="age", target_kind="numbers")
    select(measured, "rrelief", top=2).to_html(tmp_path / "page.html")
    opened = visit(browser, tmp_path / "page.html")
    assert opened.trouble == []
    assert opened.locator("#values .point").count() == 2 * 50
    assert opened.locator("#heat-map .xtick text").all_text_contents() == ["samples by rising age"]


@pytest.mark.filterwarnings("ignore:nothing is selected")
@pytest.mark.parametrize("name", PAGES)
def test_it_opens_without_complaint_or_request_and_draws_every_figure(tab, page, name):
    opened = tab(name)
    assert opened.trouble == []
    assert opened.requests == [page(name)[0].absolute().as_uri()]
    figures = opened.locator("[data-figure]").all()
    assert len(figures) >= 1
    for figure in figures:
        assert figure.locator(".marks > *").count() > 0


@pytest.mark.filterwarnings("ignore:nothing is selected")
@pytest.mark.parametrize(
    ("name", "there", "not_there"),
    [
        ("wide", {"weights", "held-out-error", "values", "heat-map"}, {"local-features"}),
        ("three", {"convergence", "held-out-error", "values"}, {"components"}),
        ("nothing", {"weights", "values"}, {"heat-map"}),
        ("llfs", {"local-features", "heat-map"}, {"components"}),
        ("lfe", {"components", "values"}, {"heat-map", "held-out-error"}),
    ],
)
def test_each_method_has_its_figures(tab, name, there, not_there):
    found = set(
        tab(name).locator("[data-figure]").evaluate_all("all => all.map(f => f.dataset.figure)")
    )
    assert there <= found
    assert not found & not_there


def cells(opened, column):
    labels = opened.locator("#features thead tr").first.locator("th").all_inner_texts()
    place = labels.index(column) + 1
    return opened.locator(f"#features tbody td:nth-child({place})").all_inner_texts()


def test_the_table_has_every_feature_sorts_and_searches(tab, page):
    opened, found = tab("wide"), page("wide")[1]
    table, ranking = opened.locator("#features"), found.ranking()
    assert cells(opened, "feature") == ranking["name"].tolist()[:25]
    assert "of 300" in table.locator("[role=status]").inner_text()
    table.locator('th[data-column="difference"] button').click()
    largest = ranking.sort_values("difference", ascending=False)["name"].tolist()
    assert cells(opened, "feature") == largest[:25]
    table.get_by_label("Filter feature").fill("gene1")
    expected = [name for name in largest if name.startswith("GENE1")]
    assert cells(opened, "feature") == expected[:25]
    table.get_by_label("Filter q").fill("<0.1")
    assert (
        len(cells(opened, "feature"))
        == ((ranking["q"] < 0.1) & ranking["name"].str.startswith("GENE1")).sum()
    )


def test_what_is_downloaded_is_the_ranking(tab, page):
    opened, found = tab("three"), page("three")[1]
    with opened.expect_download() as caught:
        opened.locator("#features").get_by_role("button", name="CSV").click()
    read = pd.read_csv(caught.value.path()).reindex(columns=list(found.ranking()))
    pd.testing.assert_frame_equal(read, found.ranking(), check_dtype=False)


def test_hostile_names_are_shown_and_downloaded_as_they_are(tab, page):
    opened, found = tab("hostile"), page("hostile")[1]
    names = found.ranking()["name"].tolist()
    assert sorted(names) == sorted(name.strip() for name in HOSTILE)
    shown = opened.locator("#features tbody td.code").evaluate_all(
        "all => all.map(c => c.textContent)"
    )
    assert shown == names
    with opened.expect_download() as caught:
        opened.locator("#features").get_by_role("button", name="CSV").click()
    text = Path(caught.value.path()).read_text()
    assert [row["name"] for row in csv.DictReader(StringIO(text, newline=""))] == names
    assert opened.locator("img[src=x]").count() == 0
    assert set(opened.locator("#values .entry text").all_text_contents()) == set(HOSTILE_CLASSES)


def test_figures_name_features_and_classes(tab, page):
    opened, found = tab("wide"), page("wide")[1]
    chosen = found.ranking()["name"][known(found.support).sum() - 1 :: -1].tolist()
    rows = opened.locator("#heat-map .ytick text").all_text_contents()
    assert sorted(rows) == sorted(chosen)
    assert opened.locator("#heat-map .xtick text").all_text_contents() == ["normal", "tumour"]
    strips = opened.locator("#values .title").evaluate_all(
        "all => all.map(title => title.firstChild.data)"
    )
    assert strips == found.ranking()["name"].tolist()[: min(12, len(chosen))]


@pytest.mark.filterwarnings("ignore:nothing is selected")
def test_that_nothing_is_selected_is_said_first(tab):
    opened = tab("nothing")
    said = opened.locator(".verdict").inner_text()
    assert said.startswith("Nothing is selected. The test says why: the smallest q-value is")
    assert opened.locator("h1").inner_text().startswith("None of 30 features")


@pytest.mark.filterwarnings("ignore:nothing is selected")
def test_a_share_of_halves_is_a_share(tab, page):
    assert cells(tab("stability"), "chosen by")[0].endswith("%")
    ranking = page("stability")[1].ranking()
    assert ranking["chosen_share"].between(0, 1).all()


def test_a_category_is_drawn_by_the_names_of_its_values(browser, tmp_path):
    frame = genes(60, 4).assign(stage=np.where(np.arange(60) % 2, "III", "0 or I"))
    frame.loc[3, "GENE1"] = np.nan
    (tmp_path / "mixed.csv").write_text(frame.to_csv(index=False))
    mixed = load(tmp_path / "mixed.csv", "status", mixed=True)
    select(mixed, "relief", top=5).to_html(tmp_path / "page.html")
    opened = visit(browser, tmp_path / "page.html")
    assert opened.trouble == []
    ticks = opened.locator("#values .ytick text").all_text_contents()
    assert {"0 or I", "III"} <= set(ticks)
    assert len(opened.locator("#values .entry text").all()) == 2
    assert "stage" not in opened.locator("#heat-map .ytick text").all_text_contents()
    said = opened.locator("#heat-map").inner_text()
    assert "Categories are left out." in said
    assert "What is missing is tan." in said
    assert "1 of 300 values" in opened.locator("#overview").inner_text()


def test_cells_without_a_value_look_unlike_zero(browser, tmp_path):
    pairs = [("a", "a", 1.0), ("a", "b", 0.0), ("b", "b", 1.0)]
    frame = pd.DataFrame(pairs, columns=["one", "two", "common"])
    figure = Figure("map", "Map", "heat", frame, "two", "one", "", "", value="common")
    (tmp_path / "map.html").write_text(page_html("map", [known(drawn(figure))], []))
    opened = visit(browser, tmp_path / "map.html")
    # A path has the cells of one colour, each of which begins with M.
    cells = opened.locator(".cells").evaluate_all(
        "all => all.map(path => [getComputedStyle(path).fill, path.getAttribute('d')])"
    )
    assert [drawn.count("M") for _, drawn in cells] == [2, 1, 1]
    assert len({colour for colour, _ in cells}) == 3
    assert [told(opened, k) for k in range(4)] == [
        "a, a\n1",
        "a, b\n0",
        "b, a\nno value",
        "b, b\n1",
    ]


def told(opened, mark):
    """The tooltip of a mark, by its number, as the arrow keys show it."""
    opened.locator(".plot svg").blur()
    opened.locator(".plot svg").focus()
    for _ in range(mark + 1):
        opened.keyboard.press("ArrowRight")
    return opened.locator(".tip").evaluate("tip => tip.textContent")


def test_a_dark_phone_shows_everything_in_its_width(browser, page):
    phone = visit(
        browser, page("wide")[0], color_scheme="dark", viewport={"width": 390, "height": 844}
    )
    assert phone.evaluate("document.documentElement.scrollWidth") == 390
    assert phone.trouble == []


def test_of_twenty_thousand_features_few_are_in_the_document(browser, tmp_path):
    table = write_genes(tmp_path / "wide.csv", 20, 20_000)
    found = select(load(table, "status", id="patient"), "relief", top=50)
    found.to_html(tmp_path / "wide.html")
    opened = visit(browser, tmp_path / "wide.html")
    assert "of 500" in opened.locator("#features [role=status]").inner_text()
    assert "500 of 20,000 features, selected ones first" in opened.locator("#features").inner_text()
    # What takes a browser long is elements, not numbers.
    assert opened.locator("*").count() < 6000
    assert found.support is not None
    last = found.data.feature_names[np.flatnonzero(found.support)[-1]]
    opened.get_by_label("Filter feature").fill(last)
    assert last in cells(opened, "feature")
    assert (tmp_path / "wide.html").stat().st_size <= 2e6
