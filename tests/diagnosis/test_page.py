"""The page of an explanation in a real browser."""

import cvxpy as cp
import pytest

import convexfs
from tests.browser import visit
from tests.typed import labelled

pytest.importorskip("playwright", reason="playwright, of the dev extra, drives the browser")


def test_a_click_follows_a_constraint_to_its_rows(browser, tmp_path):
    x = cp.Variable(3, name="x", nonneg=True)
    stated = [labelled(cp.norm(x) <= 1, "ball"), labelled(cp.sum(x) >= 9, "<total>")]
    page = tmp_path / "page.html"
    page.write_text(convexfs.explain(cp.Problem(cp.Minimize(0), stated)).to_html())
    tab = visit(browser, page)
    assert tab.trouble == []
    assert [each for each in tab.requests if not each.startswith("file:")] == []
    assert "INFEASIBLE" in tab.inner_text("h1")
    tab.click("button.part:has-text('ball:')")
    marked = tab.locator("button.part.on").all_inner_texts()
    assert len(marked) == 3
    assert any("SOC" in each for each in marked)
    assert tab.locator("svg rect.on").count() > 0
    tab.locator("svg rect:not(.on)").first.click()
    assert "ball:" not in tab.locator("button.part.on").first.inner_text()
