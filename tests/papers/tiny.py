"""An experiment that takes no time, on data that are there and data that are not."""

from papers.experiment import Case, Column, Experiment, Figure, Table, Variant
from papers.measurements import Numbers

NAME = "tiny"
HOME = f"{__name__}:EXPERIMENT"
#: Runs that were measured in this process.
DONE: list[tuple[str, str, int]] = []


def measure(case: Case) -> Numbers:
    DONE.append((case.row, case.method, case.run))
    error = (
        10.0
        + case.random("error").normal()
        + (2.0 + 0.1 * case.run if case.method == "worse" else 0.0)
    )
    return {"error": error, "nested": error + 1.0 + 0.1 * case.run, "curve": [error, 2 * error]}


def curve(runs):
    means = runs[runs["measure"] == "curve"].groupby(["method", "position"])["value"].mean()
    points = means.reset_index()
    return points.rename(columns={"method": "series", "position": "x", "value": "y"})


EXPERIMENT = Experiment(
    name=NAME,
    title="A tiny <experiment>",
    reference="nobody",
    methods=("ours", "worse", "lame"),
    measure=measure,
    tables=(
        Table(
            name="tiny_table",
            title="Tiny",
            printed="lfe_table2_knn_error",
            reference="Ours",
            columns=(
                Column("Ours", "ours", printed="lfe", reading="strict", honest="nested"),
                Column("Ours", "ours", "nested", reading="nested", default=False),
                Column("Worse", "worse", printed="relief"),
                Column("Lame", "lame"),
            ),
        ),
    ),
    figures=(Figure("tiny_curve", "Curve", curve, "place", "error"),),
    full=Variant(
        sources={"waveform": "waveform:n=30", "banana": "data:banana"},
        runs=3, settings={"noise": 1}, seconds={"waveform": 0.01, "banana": 100.0},
    ),
    quick=Variant(
        sources={"waveform": "waveform:n=30"}, runs=2, settings={"noise": 0}, seconds={},
    ),
    left_out={("*", "lame"): "it cannot"},
)  # fmt: skip
