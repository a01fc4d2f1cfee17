"""The ranking of features: as a table, and as HTML that a notebook shows below a fit."""

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from convexfs.records import Certificate

#: Number of features that a notebook shows.
SHOWN = 10


def ranking_frame(
    names: Sequence[str], weights: np.ndarray, selected: np.ndarray | None
) -> pd.DataFrame:
    """Return one row per feature with name, weight, rank and selected, by decreasing weight.

    Features of equal weight share a rank, the first that any of them could have. `selected`
    is missing where there is no selection, as of a projection.
    """
    mask: Any = pd.array([None] * len(weights) if selected is None else selected, dtype="boolean")
    frame = pd.DataFrame({"name": list(map(str, names)), "weight": weights})
    frame["rank"] = frame["weight"].rank(method="min", ascending=False).astype("Int64")
    frame["selected"] = mask if selected is None else selected
    return frame.sort_values("weight", ascending=False, kind="stable", ignore_index=True)


def fit_html(ranking: pd.DataFrame, certificate: Certificate | None) -> str:
    """Return HTML with a table of the ten heaviest features, and the certificate."""
    marks: Any = ranking["selected"]
    known = not marks.isna().any()
    rows = "".join(
        f"<tr><td>{rank}</td><td style='text-align:left'>{escape(name)}</td>"
        f"<td>{weight:.4g}</td>"
        + f"<td>{'yes' if known and selected else ''}</td>" * known
        + "</tr>"
        for name, weight, rank, selected in ranking.head(SHOWN).to_numpy()
    )
    heads = "".join(f"<th>{name}</th>" for name in ("rank", "feature", "weight"))
    heads += "<th>selected</th>" * known
    told = f"{len(ranking)} features"
    if known:
        told = f"{marks.sum()} of {told} selected"
    if len(ranking) > SHOWN:
        told += f"; the {SHOWN} heaviest, all by <code>ranking()</code>"
    covers = "none" if certificate is None else escape(certificate.covers)
    return (
        f"<div class='convexfs-fit'><p>{told}</p><table><thead><tr>{heads}</tr></thead>"
        f"<tbody>{rows}</tbody></table><p>certificate: {covers}</p></div>"
    )
