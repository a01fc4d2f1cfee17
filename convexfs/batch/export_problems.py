"""Export every formulation on data of several sizes to problem files for other programs.

Each file is read again, solved and certified. A table beside the files lists for each what it is,
how it was made, and its optimum with the verdict.
"""

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from io import StringIO
from pathlib import Path
from typing import Any

import convexfs
from convexfs.data import load
from convexfs.errors import InputError, SolverUnavailable, SolverUnsuitable, check_choice, writing
from convexfs.formats import FORMATS, WRITTEN, read_problem, write_problem
from convexfs.methods import FORMULATIONS
from convexfs.methods.base.solve_step import stated
from convexfs.records import VERDICTS

#: Small, medium and large data: 15 x 4, 30 x 10 and 20 x 20, from generators with fixed seeds.
DATA = ("subclasses:n=5,noise=2", "subclasses:n=10,noise=8", "twonorm:n=20,seed=1")
#: Tolerance of the solver, and the largest difference between the optima of a problem and its file,
#: relative to the optimum if that is above 1.
TOL, AGREEMENT = 1e-8, 1e-6
#: Solvers that are tried in turn until the certificate proves a solution.
SOLVERS = ("auto", "CLARABEL", "ECOS")
TABLE = "problems"


@dataclass(frozen=True)
class Instance:
    """One row of the table of exported problems: a formulation on one data set.

    Attributes
    ----------
    name, file : str
        Of the problem and of its file; none if the format has no place for it, and then
        `failure` says why.
    formulation, problem_class, sense, cones : str
        Which problem it is, its largest cone, and all cones with their numbers of rows.
    columns, rows, nonzeros : int
        Sizes of the cone program in the file.
    optimum, optimum_of_file : float or None
        Of the problem as stated, and of what was read from the file again.
    proven : bool or None
        The verdict on the file's solution: proven (True), refuted (False) or undecided (None).
    solver, how : str
        Who found it, and how the problem was made.
    """

    name: str
    file: str = ""
    formulation: str = ""
    problem_class: str = ""
    sense: str = ""
    columns: int = 0
    rows: int = 0
    nonzeros: int = 0
    cones: str = ""
    optimum: float | None = None
    optimum_of_file: float | None = None
    proven: bool | None = None
    solver: str = ""
    how: str = ""
    failure: str = ""

    @property
    def agrees(self) -> bool:
        """Whether the file was written and its optimum agrees with that of the problem."""
        if self.optimum is None or self.optimum_of_file is None:
            return False
        allowed = AGREEMENT * max(1.0, abs(self.optimum))
        return abs(self.optimum - self.optimum_of_file) <= allowed


def export_problems(
    folder: str | Path,
    suffix: str,
    *,
    only: Sequence[str] | None = None,
    data: Iterable[str] = DATA,
    watch: Callable[[Instance], None] = lambda instance: None,
) -> list[Instance]:
    """Write formulations as problem files, with problems.csv and .md; return an Instance each.

    Parameters
    ----------
    folder : path
        Made if it is not there.
    suffix : str
        A format by its ending, such as ``.cbf``.
    only : sequence of str, optional
        Names of formulations; default: all.
    data : iterable of str
        What to state them on, as :func:`convexfs.load` takes it.
    watch : callable
        Called with each instance that is done.
    """
    check_choice("format", suffix.lstrip("."), [known.lstrip(".") for known in WRITTEN])
    for name in only or ():
        check_choice("formulation", name, FORMULATIONS)
    folder = Path(folder)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    found = []
    for spec in data:
        for name in only or FORMULATIONS:
            found.append(_exported(name, spec, folder, f".{suffix.lstrip('.')}"))
            watch(found[-1])
    (folder / f"{TABLE}.csv").write_text(as_csv(found), encoding="utf-8")
    (folder / f"{TABLE}.md").write_text(as_markdown(found), encoding="utf-8")
    return found


def _exported(name: str, spec: str, folder: Path, suffix: str) -> Instance:
    from convexfs.solving.backends import needs_of

    samples, formulation = load(spec).training.scaled(), FORMULATIONS[name]
    values, hyper = formulation.numbers(samples.X, samples.y)
    problem = stated(formulation, {**values, **hyper}, None)
    chosen = "".join(f", {key}={value:g}" for key, value in hyper.items())
    known: dict[str, Any] = {
        "name": f"{name}_{samples.n_samples}x{samples.n_features}",
        "formulation": name,
        "problem_class": _largest(needs_of(problem)),
        "sense": problem.objective.NAME[:3],
        "how": f"convexfs {convexfs.__version__}: {name} on {spec}, scaled{chosen}",
    }
    path = folder / f"{known['name']}{suffix}"
    try:
        write_problem(problem, path)
    except InputError as refused:
        return Instance(**known, failure=str(refused))
    again = read_problem(path)
    stated_optimum = _proven(problem)[0].objective
    solution, certificate = _proven(again)
    return Instance(
        **known,
        **_sizes(path, suffix),
        file=path.name,
        optimum=stated_optimum,
        optimum_of_file=solution.objective,
        proven=certificate.ok,
        solver=solution.solver,
    )


def _largest(needs: Any) -> str:
    order = ("SDP", "POW", "EXP", "SOC", "QP", "LP")
    largest = next((cone for cone in order if cone in needs.cones), "LP")
    return f"MI{largest}" if needs.integer else largest


def _proven(problem: Any) -> tuple[Any, Any]:
    """Return the first solution that is proven (else the last) and its certificate."""
    from convexfs.certification.certify import certify
    from convexfs.solving.solve import solve

    for solver in SOLVERS:
        try:
            solution = solve(problem, solver, TOL)
        except (SolverUnavailable, SolverUnsuitable):
            continue
        certificate = certify(problem, solution)
        if certificate.ok:
            break
    return solution, certificate  # type: ignore[possibly-undefined]


def _sizes(path: Path, suffix: str) -> dict[str, Any]:
    """Return numbers of columns, rows, nonzeros and the cones of the program in a file."""
    program = FORMATS[suffix].read(path)
    counted = {kind: int(program.rows(kind).size) for kind in sorted(program.kinds)}
    return {
        "columns": program.c.size,
        "rows": program.b.size,
        "nonzeros": int(program.A.nnz) + (0 if program.P is None else int(program.P.nnz)),
        "cones": ", ".join(f"{count} {kind}" for kind, count in counted.items()),
    }


def as_csv(instances: Iterable[Instance]) -> str:
    """Return the table of exported problems as CSV text."""
    text = StringIO()
    writer = csv.DictWriter(text, [own.name for own in fields(Instance)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(instance) for instance in instances)
    return text.getvalue()


def as_markdown(instances: Iterable[Instance]) -> str:
    """Return the table of exported problems as Markdown text."""
    shown = ("name", "problem_class", "sense", "columns", "rows", "nonzeros", "cones")
    lines = [
        "# Problems",
        "",
        "Each file was read again and solved; the verdict is that of the solution's certificate. "
        "How each was made is in the table for programs.",
        "",
        f"| {' | '.join(shown)} | optimum | verdict | solver |",
        f"|{'---|' * (len(shown) + 3)}",
    ]
    for one in instances:
        cells = [str(getattr(one, column)) for column in shown]
        if one.file:
            optimum = "" if one.optimum is None else f"{one.optimum:.10g}"
            ending = [optimum, VERDICTS[one.proven], one.solver]
        else:
            ending = [f"not written: {one.failure}", "", ""]
        lines.append(f"| {' | '.join([*cells, *ending])} |")
    return "\n".join([*lines, ""])
