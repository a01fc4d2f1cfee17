"""The description of a figure, which pages and picture files draw."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

#: Okabe and Ito's colours, distinguishable with any colour vision; shades of blue for bar parts.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a6d3b", "#7f7f7f"]
SHADES = ["#08519c", "#4292c6", "#9ecae1", "#bdbdbd"]


@dataclass(frozen=True)
class Figure:
    """Description of a figure: the kind of drawing, its table, and which columns are x, y etc.

    Attributes
    ----------
    kind : str
        steps, lines, bands (lines with ``low`` and ``high``), points, bars (stacked, lying),
        ranked (bars in the order of the rows, the marked ones in colour), strips (every
        ``panel`` has its own axes, beside the others) or heat.
    frame : DataFrame
        With the columns named by ``x, y``, and perhaps ``series`` (colours), ``panel`` (one
        drawing for each value), ``hover`` (what a point is), ``mark`` (True: ringed),
        ``value`` (of a heat map) and ``group`` (which tells its columns apart).
    ticks : mapping of str to list of str
        By panel of strips, what its values 0, 1, ... are called, if they have names.
    limit : float
        Of a heat map whose values go as far below 0 as above; else they go from 0 to 1.
    faint : str
        Series that is drawn in a pale colour.
    equal : bool
        Whether lengths are the same in both directions.
    note : str
        How it is to be read.
    """

    name: str
    title: str
    kind: str
    frame: pd.DataFrame
    x: str
    y: str
    x_label: str
    y_label: str
    series: str = ""
    panel: str = ""
    log_x: bool = False
    log_y: bool = False
    hover: str = ""
    mark: str = ""
    mark_label: str = ""
    value: str = ""
    value_label: str = ""
    low: str = ""
    high: str = ""
    group: str = ""
    ticks: Mapping[str, list[str]] = field(default_factory=dict)
    limit: float = 0.0
    faint: str = ""
    equal: bool = False
    note: str = ""

    @property
    def panels(self) -> list[str]:
        """Names of the panels; one empty name if the figure has none."""
        return self.frame[self.panel].drop_duplicates().tolist() if self.panel else [""]

    def names(self, solvers: list[str]) -> list[str]:
        """Return the series' names in colour order; a solver has one colour in all figures."""
        if self.series in ("", "solver"):
            return solvers
        return self.frame[self.series].drop_duplicates().tolist()

    def ordered(self, solvers: list[str]) -> pd.DataFrame:
        """Return the table's columns that are drawn, rows sorted by the given order of solvers."""
        drawn = [self.panel, self.series, self.y, self.x, self.value, self.hover, self.mark]
        drawn += [self.low, self.high, self.group]
        frame = self.frame[list(dict.fromkeys(name for name in drawn if name))]
        for name in [name for name in ("other", "solver") if name in frame]:
            frame = frame.sort_values(name, key=lambda own: own.map(solvers.index), kind="stable")
        return frame

    def as_json(self, solvers: list[str]) -> dict[str, Any]:
        """Return all fields except the table, with names of series and panels, for JSON."""
        told = {name: value for name, value in vars(self).items() if name != "frame"}
        return told | {"names": self.names(solvers), "panels": self.panels}


def spread(values: np.ndarray, most: int) -> np.ndarray:
    """Return at most `most` values, evenly spaced, including the first and last."""
    if len(values) <= most:
        return values
    return values[np.linspace(0, len(values) - 1, most).round().astype(int)]
