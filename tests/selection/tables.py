"""Tables of genes to select from."""

import numpy as np
import pandas as pd

#: Names that break what takes them for anything but text.
HOSTILE = [
    "</script><script>alert(1)</script>", "quo\"te's & <b>bold</b>", "基因 α→β", "long " * 60,
    "=1+1", r"$\frac{a}{b}$", "%{x}<br>", "\u202ertl", "a,b;c\td", "1e5", "constructor",
    "__proto__",
]  # fmt: skip
HOSTILE_CLASSES = ("<img src=x onerror=alert(2)>", 'o\'k "quoted"')


def genes(n_samples, n_features, shift=2.0, classes=("normal", "tumour"), names=None, told=12):
    """Samples of which the first `told` features go with the classes, in turn."""
    codes = np.arange(n_samples) % len(classes)
    X = np.random.default_rng(0).standard_normal((n_samples, n_features))
    for j in range(min(told, n_features)):
        X[:, j] += shift * (codes == j % len(classes))
    frame = pd.DataFrame(X, columns=names or [f"GENE{j + 1}" for j in range(n_features)])
    frame.insert(0, "patient", [f"TCGA-{i:03d}" for i in range(n_samples)])
    return frame.assign(status=np.array(classes)[codes])


def write_genes(path, *size, **options):
    """Write such a table, and return where."""
    genes(*size, **options).to_csv(path, index=False)
    return path
