"""Data: files, generators and bundled sets as checked, scalable samples."""

from convexfs.data.checks import (
    as_labels,
    as_matrix,
    check_classes,
    check_finite,
    refuse_text,
    warn_constant_columns,
)
from convexfs.data.dataset import Dataset, make_dataset
from convexfs.data.files import read_file
from convexfs.data.ranges import check_largest, check_range, constant_columns, varying_columns
from convexfs.data.specs import BUNDLED, load
from convexfs.data.synthetic import GENERATORS

__all__ = [
    "BUNDLED",
    "GENERATORS",
    "Dataset",
    "as_labels",
    "as_matrix",
    "check_classes",
    "check_finite",
    "check_largest",
    "check_range",
    "constant_columns",
    "load",
    "make_dataset",
    "read_file",
    "refuse_text",
    "varying_columns",
    "warn_constant_columns",
]
