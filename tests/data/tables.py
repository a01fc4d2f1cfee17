"""A small table, by hand and in files of every format."""

import numpy as np
import pandas as pd

X = np.array([[1.5, -2.0, 0.25], [3.0, 1e-9, 7.0], [0.0, 4.0, 0.1], [2.0, 2.0, 1.0 / 3]])

Y = np.array([0, 1, 1, 0])

LABELS = np.array(["ham", "spam"])[Y]

TABLE = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=LABELS)


def write_arff(path):
    lines = ["@relation r", *(f"@attribute {name} numeric" for name in "abc")]
    lines += ["@attribute kind {ham,spam}", "@data"]
    lines += [
        ",".join(map(repr, row.tolist())) + f",{label}"
        for row, label in zip(X, LABELS, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n")


WRITERS = {
    "t.csv": lambda path: TABLE.to_csv(path, index=False),
    "t.csv.gz": lambda path: TABLE.to_csv(path, index=False),
    "t.TSV": lambda path: TABLE.to_csv(path, index=False, sep="\t"),
    "t.parquet": lambda path: TABLE.to_parquet(path),
    "t.arff": write_arff,
}
