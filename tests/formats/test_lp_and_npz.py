"""Formulas that HiGHS reads, and archives: what is wrong with one is said."""

import json
from typing import Any

import numpy as np
import pytest

from convexfs import read_problem, write_problem
from convexfs.errors import InputError
from tests.solving import problems

FORMULA = """\
\\ a comment
maximize
 profit: 3 bread + 2 beer - 0.5 salt + 4
subject to
 oven: bread + beer <= 4
 mix: -2 <= +1 bread -1 beer <= 1.5
 some: salt >= 0.5
bounds
 -inf <= salt <= 10
 beer <= 3
general
 beer
end
"""


def test_a_formula_with_ranges_bounds_and_integers(tmp_path):
    (tmp_path / "a.lp").write_text(FORMULA)
    problem: Any = read_problem(tmp_path / "a.lp")  # typed without the columns
    assert problem.columns == ("bread", "beer", "salt")
    assert problem.solve(solver="HIGHS") == pytest.approx(3 * 2 + 2 * 2 - 0.25 + 4)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("bread + beer <= 4", "bread + + * beer <= 4", 5),
        (" oven: bread + beer <= 4\n", " oven: bread + beer <= <= 4\n", 5),
    ],
)
def test_a_wrong_formula_is_refused_with_its_line(tmp_path, old, new, line):
    (tmp_path / "a.lp").write_text(FORMULA.replace(old, new))
    with pytest.raises(InputError, match=rf"a\.lp, line {line}: HiGHS cannot read this as \.lp"):
        read_problem(tmp_path / "a.lp")


@pytest.mark.parametrize("text", ["", "garbage\n", "\0"])
def test_what_is_no_formula_is_refused(tmp_path, text):
    (tmp_path / "a.lp").write_text(text)
    with pytest.raises(InputError, match=r"a\.lp, line 1"):
        read_problem(tmp_path / "a.lp")


@pytest.fixture
def archive(tmp_path):
    write_problem(problems.second_order(), tmp_path / "good.npz")
    held = dict(np.load(tmp_path / "good.npz"))

    def archive(**changes):
        path = tmp_path / "a.npz"
        changed = {name: value for name, value in (held | changes).items() if value is not None}
        np.savez(path, **changed)
        return path

    return archive


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"q": None}, "it has no 'q'"),
        ({"b": np.ones(3)}, "size"),
        ({"cones": json.dumps([["cylinder", 3]])}, "there is no cone 'cylinder'"),
        ({"columns": json.dumps({"x": [0, 1]})}, "sizes of its arrays do not fit"),
        ({"offset": np.nan}, "not finite"),
        ({"A_indices": np.array([99])}, "a.npz"),
    ],
)
def test_an_archive_that_does_not_fit_is_refused(archive, changes, message):
    with pytest.raises(InputError, match="is no archive of a cone program") as caught:
        read_problem(archive(**changes))
    assert message in str(caught.value)


def test_an_archive_of_samples_is_no_problem(tmp_path):
    np.savez(tmp_path / "data.npz", X=np.ones((3, 2)), y=np.arange(3))
    with pytest.raises(InputError, match=r"data\.npz is no archive of a cone program"):
        read_problem(tmp_path / "data.npz")
    (tmp_path / "text.npz").write_text("no archive")
    with pytest.raises(InputError, match=r"text\.npz is no archive"):
        read_problem(tmp_path / "text.npz")
