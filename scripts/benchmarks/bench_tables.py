"""Six kinds of tables from file to page, with the CPU time of each part, and a large sparse file.

    python bench_tables.py --out pages
    python bench_tables.py --only cells,large --out pages

Files are made here, as a clinic, a sequencer (counts, gene by gene, with symbols), Cell Ranger (a
folder), a genotyping array (.bed), a survey and a laboratory (a numeric target) write them. Signal
is planted; the table says how many of the planted features are found, how many others, and the
share of reading, fitting, testing (held-out errors included) and drawing of the page. `large` is
5,000 cells x 10,000 genes in an .h5ad file. CPU seconds are of this process, kernels compiled
before.
"""

import argparse
import gzip
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from scipy import sparse
from scipy.io import mmwrite

import convexfs
from convexfs.selection import Selection, fit_by_name
from convexfs.selection.rules import SelectionRule

PARTS = ("read", "fit", "test", "draw")
#: A file, the options that read it, and the planted features.
Case = tuple[Path, dict[str, Any], set[str]]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for files and pages")
    parser.add_argument("--only", default=",".join(CASES), help="names between commas")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    warm_up()
    table = Table(
        "data", "samples x features", "planted found", "others", *PARTS, "CPU s", "page MB"
    )
    for name in arguments.only.split(","):
        made = CASES[name](arguments.out)
        table.add_row(name, *measured(name, made, arguments.out))
    Console(width=110).print(table)


def measured(name: str, case: Case, out: Path) -> list[str]:
    """Select from a file and write the page; return the cells of a row."""
    source, options, planted = case
    spent: dict[str, float] = dict.fromkeys(PARTS, 0.0)
    began = time.process_time()
    method = options.pop("method", None)
    judge = SelectionRule()
    with clock(spent, "read"):
        needs = fit_by_name.reading_for(method or "relief", judge)
        data = convexfs.load(source, **needs, **options)
    with (
        timed(fit_by_name, "_fit_model", spent, "fit"),
        timed(SelectionRule, "_by_test", spent, "test"),
    ):
        found = convexfs.select(data, method)
    with clock(spent, "draw"), timed(Selection, "with_curve", spent, "test", "draw"):
        page = found.to_html(out / f"{name}.html")
    total = time.process_time() - began
    chosen = {data.feature_names[j] for j in np.flatnonzero(np.asarray(found.support))}
    shares = [f"{100 * spent[part] / total:.0f} %" for part in PARTS]
    hits = f"{len(chosen & planted)} of {len(planted)}"
    size = f"{data.n_samples} x {data.n_features}"
    return [
        size,
        hits,
        str(len(chosen - planted)),
        *shares,
        f"{total:.1f}",
        f"{len(page) / 1e6:.2f}",
    ]


@contextmanager
def clock(spent: dict[str, float], part: str) -> Iterator[None]:
    """Add the CPU time of a block to a part."""
    began = time.process_time()
    yield
    spent[part] += time.process_time() - began


@contextmanager
def timed(
    home: Any, function: str, spent: dict[str, float], part: str, inside: str = ""
) -> Iterator[None]:
    """Add the CPU time of a function to a part, and take it from the part it is inside of."""
    whole = getattr(home, function)

    def wrapped(*args: Any, **options: Any) -> Any:
        before = spent[part]
        with clock(spent, part):
            result = whole(*args, **options)
        if inside:
            spent[inside] -= spent[part] - before
        return result

    setattr(home, function, wrapped)
    try:
        yield
    finally:
        setattr(home, function, whole)


def warm_up() -> None:
    """Compile the kernels."""
    rng = np.random.default_rng(0)
    dense, y = rng.poisson(1.0, (40, 60)).astype(float), np.arange(40) % 2
    for X in (dense, sparse.csr_array(dense)):
        convexfs.select(convexfs.data.make_dataset(X, y))
    holes = pd.DataFrame(dense).rename(columns=str).assign(y=y.astype(str))
    holes.loc[3, "1"] = np.nan
    convexfs.select(convexfs.load(holes, target="y", mixed=True))
    numbers = convexfs.data.make_dataset(dense, dense[:, 0] + dense[:, 1], target_kind="numbers")
    convexfs.select(numbers, "rrelief")


def clinical(out: Path) -> Case:
    """Make a table of patients with detection limits, words for nothing, and an id."""
    rng, n = np.random.default_rng(0), 320
    ill = rng.random(n) < 0.4
    frame = pd.DataFrame({f"lab{j}": rng.normal(10, 2, n).round(2) for j in range(40)})
    planted = {f"lab{j}" for j in range(5)}
    for name in planted:
        frame[name] += 2.5 * ill
    texts = frame.astype(object)
    texts.iloc[::17, 1] = "<6.5"
    texts.iloc[::13, 3] = "not done"
    texts.insert(0, "patient", [f"P{i:04d}" for i in range(n)])
    texts["sex"] = np.where(rng.random(n) < 0.5, "f", "m")
    texts["smoker"] = np.where(rng.random(n) < 0.2 + 0.5 * ill, "yes", "no")
    texts.assign(status=np.where(ill, "ill", "well")).to_csv(out / "clinical.csv", index=False)
    options = {"target": "status", "limits": "value", "na": ["not done"]}
    return out / "clinical.csv", options, planted | {"smoker"}


def counts(out: Path) -> Case:
    """Make counts of reads, one row per gene, with symbols, and classes in another file."""
    rng, n, n_genes = np.random.default_rng(1), 60, 5000
    tumour = np.arange(n) % 2 == 1
    mean = rng.gamma(0.8, 200.0, n_genes)
    depth = rng.uniform(0.6, 1.6, n)
    rate = np.outer(mean, depth)
    rate[:40, tumour] *= 4.0
    reads = rng.poisson(rng.gamma(5.0, rate / 5.0))
    names = [f"ENSG{j:05d}" for j in range(n_genes)]
    samples = [f"S{i:02d}" for i in range(n)]
    frame = pd.DataFrame(reads, columns=samples)
    frame.insert(0, "gene_id", names)
    frame.insert(1, "symbol", [f"GENE{j}" for j in range(n_genes)])
    frame.to_csv(out / "counts.tsv", sep="\t", index=False)
    kinds = np.where(tumour, "tumour", "normal")
    pd.DataFrame({"id": samples, "kind": kinds}).to_csv(out / "kinds.csv", index=False)
    options = {"transpose": True, "labels": out / "kinds.csv", "normalize": "log1p-cpm"}
    return out / "counts.tsv", options, set(names[:40])


def cell_counts(n: int, n_genes: int, n_types: int) -> tuple[Any, np.ndarray]:
    """Return sparse counts of cells of several types, of which each has 20 genes."""
    rng = np.random.default_rng(2)
    types = rng.integers(0, n_types, n)
    mean = rng.gamma(0.3, 0.3, n_genes)
    blocks = []
    for kind in types:
        rate = mean.copy()
        rate[20 * kind : 20 * kind + 20] += 1.5
        blocks.append(sparse.csr_array(rng.poisson(rate).astype(np.float32)[None, :]))
    return sparse.vstack(blocks, format="csr"), types


def cells(out: Path) -> Case:
    """Make a folder as Cell Ranger writes it, and the types in another file."""
    X, types = cell_counts(600, 2000, 4)
    folder = out / "cells"
    folder.mkdir(exist_ok=True)
    with gzip.open(folder / "matrix.mtx.gz", "wb") as file:
        mmwrite(file, sparse.coo_matrix(X.T).astype(int))
    names = [f"GENE{j}" for j in range(2000)]
    lines = [f"ENSG{j:05d}\t{name}\tGene Expression\n" for j, name in enumerate(names)]
    (folder / "features.tsv").write_text("".join(lines))
    (folder / "barcodes.tsv").write_text("".join(f"CELL{i}-1\n" for i in range(600)))
    table = pd.DataFrame({"id": [f"CELL{i}-1" for i in range(600)], "type": types.astype(str)})
    table.assign(type="type " + table["type"]).to_csv(out / "types.csv", index=False)
    options = {"labels": out / "types.csv", "normalize": "log1p-cpm"}
    return folder, options, set(names[:80])


def genotypes(out: Path) -> Case:
    """Make genotypes in PLINK's files."""
    from bed_reader import to_bed

    rng, n, number = np.random.default_rng(3), 400, 3000
    case = np.arange(n) % 2 == 1
    share = rng.uniform(0.1, 0.5, number)
    X = rng.binomial(2, np.tile(share, (n, 1))).astype(float)
    X[case, :8] = rng.binomial(2, np.minimum(share[:8] + 0.35, 0.95), (int(case.sum()), 8))
    names = [f"rs{j}" for j in range(number)]
    about = {"iid": [f"I{i}" for i in range(n)], "sid": names, "pheno": case.astype(int) + 1}
    to_bed(out / "genotypes.bed", X, properties=about)
    return out / "genotypes.bed", {}, set(names[:8])


def survey(out: Path) -> Case:
    """Make a survey: answers from 1 to 5, -9 where there is none, and categories."""
    rng, n = np.random.default_rng(4), 900
    churn = rng.random(n) < 0.35
    answers = rng.integers(1, 6, (n, 30))
    answers[:, :4] = np.clip(answers[:, :4] - 2 * churn[:, None], 1, 5)
    answers[rng.random(answers.shape) < 0.03] = -9
    frame = pd.DataFrame(answers, columns=[f"q{j}" for j in range(30)])
    frame["region"] = rng.choice(["north", "south", "east", "west"], n)
    frame["plan"] = np.where(rng.random(n) < 0.3 + 0.4 * churn, "basic", "full")
    frame.assign(left=np.where(churn, "yes", "no")).to_excel(out / "survey.xlsx", index=False)
    return out / "survey.xlsx", {"target": "left", "na": ["-9"]}, {"q0", "q1", "q2", "q3", "plan"}


def regression(out: Path) -> Case:
    """Make measurements with a numeric target."""
    rng, n = np.random.default_rng(5), 300
    X = rng.standard_normal((n, 100))
    target = 3 * X[:, 0] + 2 * X[:, 1] - 2 * X[:, 2] + rng.standard_normal(n)
    names = [f"peak{j}" for j in range(100)]
    frame = pd.DataFrame(X.round(5), columns=names).assign(octane=90 + target.round(3))
    frame.to_parquet(out / "regression.parquet")
    return out / "regression.parquet", {"target": "octane", "method": "rrelief"}, set(names[:3])


def large(out: Path) -> Case:
    """Make a large .h5ad file, as AnnData documents the format."""
    import h5py

    X, types = cell_counts(5000, 10_000, 6)
    text, names = h5py.string_dtype(), [f"GENE{j}" for j in range(10_000)]
    file: Any
    with h5py.File(out / "large.h5ad", "w") as file:
        group = file.create_group("X")
        group.attrs["encoding-type"], group.attrs["shape"] = "csr_matrix", X.shape
        for part in ("data", "indices", "indptr"):
            group.create_dataset(part, data=getattr(X, part))
        index = {"obs": [f"CELL{i}" for i in range(5000)], "var": names}
        for name, values in index.items():
            frame = file.create_group(name)
            frame.attrs["encoding-type"], frame.attrs["_index"] = "dataframe", "_index"
            order = ["cell_type"] if name == "obs" else []
            frame.attrs["column-order"] = np.array(order, dtype=text)
            frame.create_dataset("_index", data=np.array(values, dtype=object), dtype=text)
        called = np.array([f"type {kind}" for kind in types], dtype=object)
        file["obs"].create_dataset("cell_type", data=called, dtype=text)
    options = {"target": "cell_type", "normalize": "log1p-cpm"}
    return out / "large.h5ad", options, set(names[:120])


CASES: dict[str, Callable[[Path], Case]] = {
    "clinical": clinical, "counts": counts, "cells": cells, "genotypes": genotypes,
    "survey": survey, "regression": regression, "large": large,
}  # fmt: skip

if __name__ == "__main__":
    main()
