"""Tasks as a store holds them, to be judged."""

from convexfs.study.outcomes import outcomes

TASK = {
    "problem": "relief",
    "problem_file": "/p/relief.py",
    "method": "relief",
    "formulation": "relief",
    "needs": "SOC",
    "sense": "max",
    "data": "iris",
    "data_sha256": "d" * 64,
    "hyper": {"lam": 0.5},
    "solver": "CLARABEL",
    "options": "{}",
    "tol": 1e-6,
    "time_limit": 10.0,
    "repeat": 0,
    "seed": 0,
    "status": "optimal",
    "failure": "",
    "objective": 5.0,
    "solve_seconds": 0.5,
    "wall_seconds": 1.0,
}
PROVEN = {
    "primal_residual": 1e-9,
    "dual_residual": 1e-9,
    "complementarity": 1e-9,
    "gap": 1e-9,
    "ok": True,
    "certificate_tol": 1e-5,
    "basis": "cone program",
    "certificates": 2,
}
ALONE = PROVEN | dict.fromkeys(("dual_residual", "complementarity", "gap", "ok"))


def verdicts(folder):
    frame = outcomes(folder).set_index("key")
    return frame["outcome"].to_dict()
