"""What sparse samples are worth, measured: RELIEF-F and Logo beside their dense fits.

    python bench_sparse.py                    # RELIEF-F 2,000 x 30,000, Logo 400 x 6,000
    python bench_sparse.py --relief 500 8000 --logo 200 3000 --density 0.01

Every fit is a process of its own, which has compiled the kernels before: CPU seconds of the fit,
the data's bytes and what the fit adds to them at its peak. Counts are drawn as single cells have
them.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import sparse

from convexfs import Logo, Relief

MODELS = {
    "RELIEF-F": lambda n: Relief(n_neighbors=10, n_features_to_select=50),
    # The loss is a sum over samples: the price grows with their number.
    "Logo": lambda n: Logo(lam=n / 80.0),
}
RELEVANT = 20


def sample(n: int, j: int, density: float, dense: bool) -> tuple[Any, np.ndarray]:
    """Counts by rows; the first features have more of them in one of two classes."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    # Row by row, for scipy's own draw holds a number for every cell.
    filled = rng.binomial(j, density, n)
    columns = np.concatenate([np.sort(rng.choice(j, k, replace=False)) for k in filled])
    counts = rng.poisson(2.0, len(columns)) + 1.0
    starts = np.concatenate([[0], np.cumsum(filled)])
    X = sparse.csr_array((counts, columns, starts), shape=(n, j))
    more = np.where(y[:, None] == 1, rng.poisson(1.0, (n, RELEVANT)), 0.0)
    X = sparse.hstack([X[:, :RELEVANT] + sparse.csr_array(more), X[:, RELEVANT:]], format="csr")
    return (X.toarray(order="C") if dense else X), y


def status_bytes(name: str) -> int:
    """A line of what the system says of this process."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.partition(f"{name}:")[2].split()[0])


def held_bytes(X: Any) -> int:
    parts = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    return sum(part.nbytes for part in parts)


def measured(name: str, kind: str, n: int, j: int, density: float, out: str) -> None:
    """Print what one fit takes and says; keep its weights (a process of its own)."""
    dense = kind == "dense"
    MODELS[name](60).fit(*sample(60, 1500, 0.05, dense))
    X, y = sample(n, j, density, dense)
    # What making the data took is no matter: the peak is taken from here on.
    Path("/proc/self/clear_refs").write_text("5")
    before = status_bytes("VmRSS")
    start = time.process_time()
    model = MODELS[name](n).fit(X, y)
    took = time.process_time() - start
    np.save(out, model.weights_)
    size = held_bytes(X) + status_bytes("VmHWM") - before
    told = {"seconds": took, "bytes": size, "certificate": str(model.certificate_)}
    print(json.dumps(told | {"iterations": getattr(model, "n_iter_", 0)}))


def fit(name: str, kind: str, shape: list[int], density: float, folder: Path) -> dict[str, Any]:
    """One fit in a process of its own."""
    out = folder / f"{kind}.npy"
    words = [name, kind, *map(str, shape), str(density), str(out)]
    line = [sys.executable, __file__, "--child", *words]
    ran = subprocess.run(line, capture_output=True, text=True, check=True)
    return json.loads(ran.stdout) | {"weights": np.load(out)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--relief", type=int, nargs=2, default=[2000, 30_000], metavar=("N", "J"))
    parser.add_argument("--logo", type=int, nargs=2, default=[400, 6000], metavar=("N", "J"))
    parser.add_argument("--only", choices=["relief", "logo"])
    parser.add_argument("--density", type=float, nargs="+", default=[0.01, 0.05])
    chosen = parser.parse_args()
    console = Console(width=130)
    table = Table(
        "method", "size", "filled", "", "CPU s", "data + fit MB", "weights apart", "certificate"
    )
    for name, shape in (("RELIEF-F", chosen.relief), ("Logo", chosen.logo)):
        if chosen.only is not None and not name.lower().startswith(chosen.only):
            continue
        for density in chosen.density:
            with tempfile.TemporaryDirectory() as folder:
                fits = {k: fit(name, k, shape, density, Path(folder)) for k in ("dense", "sparse")}
            dense, thin = fits["dense"], fits["sparse"]
            apart = np.abs(thin["weights"] - dense["weights"]).max() / dense["weights"].max()
            size = f"{shape[0]} x {shape[1]}"
            for kind, row in fits.items():
                cells = [f"{row['seconds']:.2f}", f"{row['bytes'] / 1e6:.0f}"]
                cells += [f"{apart:.1e}" if kind == "sparse" else "", row["certificate"]]
                table.add_row(name, size, f"{density:.0%}", kind, *cells)
            speed, memory = dense["seconds"] / thin["seconds"], thin["bytes"] / dense["bytes"]
            ratios = f"{speed:.2f} times as fast, {memory:.2f} of the memory"
            console.print(f"{name} {size} {density:.0%}: {ratios}", highlight=False)
    console.print(table)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        name, kind, n, j, density, out = sys.argv[2:]
        measured(name, kind, int(n), int(j), float(density), out)
    else:
        main()
