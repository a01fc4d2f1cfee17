import pandas as pd
from papers.splits import least_of_means

CURVES = {0: [5.0, 3.0, 9.0], 1: [1.0, 2.0, 0.0]}


def runs():
    rows = [
        ("iris", "ours", run, "errors", position, value)
        for run, curve in CURVES.items()
        for position, value in enumerate(curve)
    ]
    rows += [("iris", "plain", run, "errors", 0, 4.0) for run in CURVES]
    rows += [("iris", "ours", run, "seconds", 0, 1.0) for run in CURVES]
    return pd.DataFrame(rows, columns=["data", "method", "run", "measure", "position", "value"])


def test_the_place_is_chosen_by_the_mean_of_the_runs_and_not_run_by_run():
    found = least_of_means(runs(), ["errors"])
    assert found["value"].tolist() == [3.0, 2.0]
    assert found["run"].tolist() == [0, 1]
    assert set(found["measure"]) == {"least errors"}
    assert set(found["position"]) == {0}


def test_what_is_no_curve_is_left_out():
    assert set(least_of_means(runs(), ["errors", "seconds"])["method"]) == {"ours"}
