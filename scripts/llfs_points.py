"""LLFS, one task a representative point, over worker processes by a solver of your choice.

    python scripts/llfs_points.py subclasses:noise=20 --solver ECOS --jobs 2 --out runs/points

prints what every point chose and makes a model of them. Stopped, the same line goes on;
``convexfs solve problems/llfs_points.py`` does the same from a problem file, on a cluster too.
"""

import argparse
import os

import pandas as pd

import convexfs

parser = argparse.ArgumentParser(description="LLFS, one task a point.")
parser.add_argument("data", nargs="?", default="subclasses:noise=20")
parser.add_argument("--solver", default="CLARABEL")
parser.add_argument("--form", default="compactness", help="or linear, bisection, ratio")
parser.add_argument("--jobs", type=int, default=os.cpu_count())
parser.add_argument("--out", default="runs/points")
asked = parser.parse_args()

data = convexfs.load(asked.data).training.scaled()
model = convexfs.LLFS(
    solver=asked.solver, form=asked.form, rounding="random", n_jobs=asked.jobs, run_dir=asked.out
).fit(data.X, data.y)

chosen = [" ".join(data.feature_names[j] for j in row.nonzero()[0]) for row in model.local_support_]
table = pd.DataFrame({"class": data.labels, "features": chosen, "radius": model.radii_})
table["beta"], table["programs"] = model.betas_, model.points_["programs"].sum(axis=1)
print(table.rename_axis("point"))

again = convexfs.LLFS.from_run(asked.out, data, asked.solver, form=asked.form)
print(f"{again}\nmean U1 {again.solution_.objective:.6g}, certificate {again.certificate_}")
print(f"training accuracy {again.score(data.X, data.y):.1%}")
