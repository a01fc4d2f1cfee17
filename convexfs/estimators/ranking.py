"""Features by their weights: as a table, and as what a notebook shows under a fit."""

from collections.abc import Sequence
from html import escape
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from convexfs.records import Certificate

#: Features that a notebook shows.
SHOWN = 10


class Ranked(BaseEstimator):
    """An estimator that has a weight for every feature once it is fitted."""

    n_features_in_: int
    certificate_: Any

    def ranking(self) -> pd.DataFrame:
        """Every feature, the heaviest first.

        Returns
        -------
        DataFrame
            name; weight; rank, which features of equal weight share; selected, as by
            ``get_support``, and missing of a projection, which selects none.
        """
        check_is_fitted(self)
        return ranking_frame(self._names(), self._feature_weights(), self._selection())

    def _names(self) -> list[str]:
        numbered = (f"feature {j + 1}" for j in range(self.n_features_in_))
        return list(map(str, getattr(self, "feature_names_in_", numbered)))

    def _feature_weights(self) -> np.ndarray:
        """A number a feature, by which they are ranked."""
        raise NotImplementedError

    def _selection(self, *, at_once: bool = False) -> np.ndarray | None:
        """The selected features; None if there is no selection, or none `at_once`."""
        get_support = getattr(self, "get_support", None)
        return None if get_support is None else get_support()

    def _repr_html_inner(self) -> str:
        return BaseEstimator._repr_html_inner(self._shown()) + self._fit_html()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        shown = BaseEstimator._repr_mimebundle_(self._shown(), **options)
        if "text/html" in shown:
            shown["text/html"] += self._fit_html()
        return shown

    def _shown(self) -> Self:
        """Return what is shown: a look must not begin long work."""
        return self

    def _fit_html(self) -> str:
        """What a notebook shows under scikit-learn's own: nothing before `fit`."""
        if not hasattr(self, "n_features_in_") or not hasattr(self, "certificate_"):
            return ""
        known = self._selection(at_once=True)
        ranking = ranking_frame(self._names(), self._feature_weights(), known)
        return fit_html(ranking, self.certificate_)


def ranking_frame(
    names: Sequence[str], weights: np.ndarray, selected: np.ndarray | None
) -> pd.DataFrame:
    """Return name, weight, rank and selected of every feature, the heaviest first.

    Features of equal weight share a rank, the first that any of them could have. `selected`
    is missing where there is no selection, as of a projection.
    """
    mask: Any = pd.array([None] * len(weights) if selected is None else selected, dtype="boolean")
    frame = pd.DataFrame({"name": list(map(str, names)), "weight": weights})
    frame["rank"] = frame["weight"].rank(method="min", ascending=False).astype("Int64")
    frame["selected"] = mask if selected is None else selected
    return frame.sort_values("weight", ascending=False, kind="stable", ignore_index=True)


def fit_html(ranking: pd.DataFrame, certificate: Certificate | None) -> str:
    """Return the heaviest features and the certificate as HTML."""
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
