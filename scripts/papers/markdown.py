"""An experiment as a page of Markdown: how it was run, its tables, what a reader must know."""

from pathlib import Path

from convexfs.batch.store.store import Store
from papers.results import Results, table_lines

#: Packages whose versions may change a number.
PACKAGES = ("convexfs", "numpy", "scipy", "scikit-learn", "numba")


def summary(shown: Results, folder: Path) -> str:
    """Return the page of an experiment that was run in a folder."""
    own = shown.plan.experiment
    lines = [f"# {own.title}", "", shown.plan.lead, "", *origin(shown, folder), ""]
    for name, (table, rows) in shown.tables.items():
        lines += [*table_lines(table, rows, shown.tests.get(name)), ""]
    if own.notes:
        lines += ["Notes", "", *(f"- {note}" for note in own.notes), ""]
    return "\n".join(lines).rstrip() + "\n"


def origin(shown: Results, folder: Path) -> list[str]:
    """Return by what command, with what versions and in what time the numbers came about."""
    planned = shown.plan
    with Store.read(folder) as store:
        tasks, environments = store.tasks(), store.environments()
        _, last = store.times()
    own = tasks[tasks["key"].isin(list(planned.keys))]
    quick = " --quick" if planned.quick else ""
    minutes = float(own["cpu_seconds"].sum()) / 60
    told = environments[-1] if environments else {"python": "", "packages": {}, "cores": ""}
    versions = [f"Python {told['python']}"]
    versions += [
        f"{name} {told['packages'][name]}" for name in PACKAGES if name in told["packages"]
    ]
    return [
        f"    python scripts/reproduce.py {planned.experiment.name}{quick} "
        f"--runs {planned.variant.runs}",
        "",
        f"{len(own)} of {len(planned.tasks)} measurements, {minutes:.1f} processor minutes, "
        f"finished {last[:10]}; {', '.join(versions)}; {told['cores']} cores.",
    ]
