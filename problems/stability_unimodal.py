"""Stability selection's bound: max tail'p,  p a unimodal law with share'p <= eta = (q / J)^2."""

METHOD = "stability-unimodal"
DATA = ["wdbc", "twonorm:noise=80"]
GRID = {"n_pairs": [50], "threshold": [0.6, 0.75, 0.9], "n_selected": [5.0], "mode": [0]}
SOLVERS = ["native", "HIGHS", "CLARABEL"]
