"""The main job on embedded data: RELIEF solved natively and by three backends."""

import time

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

import convexfs
from convexfs.errors import SolverUnavailable

DATA = {"twonorm:n=300,noise=80,seed=1": 20, "wdbc": 10}
SOLVERS = ["native", "CLARABEL", "ECOS", "SCS"]


def ranked(selector: convexfs.Relief) -> list[int]:
    order = sorted(range(selector.n_features_in_), key=lambda j: -selector.weights_[j])
    return order[: selector.n_features_to_select]


def row(data: convexfs.Dataset, top: int, solver: str) -> tuple[list[str], tuple[str, ...]]:
    """One line of the table, and the names of the features it chose."""
    selector = convexfs.Relief(n_neighbors=10, n_features_to_select=top, solver=solver)
    start = time.perf_counter()
    try:
        selector.fit(data.X, data.y)
    except SolverUnavailable:
        return ["not installed", "", "", ""], ()
    seconds = time.perf_counter() - start
    chosen = ranked(selector)
    true = "" if data.relevant is None else f" ({len({*chosen} & {*data.relevant})} true)"
    cells = [
        f"{top} of {data.n_features}{true}",
        f"{selector.solution_.objective:.4f}",
        str(selector.certificate_),
        f"{seconds:.3f}",
    ]
    return cells, tuple(data.feature_names[j] for j in chosen)


def main() -> None:
    console = Console()
    headings = ("data", "solver", "features chosen", "objective", "certificate", "seconds")
    table = Table(*headings, box=SIMPLE_HEAD)
    choices: dict[str, list[tuple[str, ...]]] = {}
    with console.status("selecting features with RELIEF") as status:
        # The first fits compile the kernels and load cvxpy, which no row should pay for.
        for solver in ("native", "CLARABEL"):
            convexfs.Relief(solver=solver).fit([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1])
        for spec, top in DATA.items():
            data = convexfs.load(spec).scaled()
            for solver in SOLVERS:
                status.update(f"{spec} with {solver}")
                cells, names = row(data, top, solver)
                table.add_row(spec.partition(":")[0], solver, *cells)
                choices.setdefault(spec, []).append(names)
            table.add_section()
    console.print(table)
    for spec, named in choices.items():
        agreed = len({names for names in named if names}) == 1
        console.print(
            f"{spec}, best first{', the same for every solver' if agreed else ', by native'}:\n"
            f"  {', '.join(named[0])}",
            highlight=False,
        )
    console.print(
        "\nEvery certificate was recomputed from the problem, not taken from the solver.\n"
        "Next: .venv/bin/convexfs select wdbc --plot weights.png, .venv/bin/convexfs --help",
        highlight=False,
    )


if __name__ == "__main__":
    main()
