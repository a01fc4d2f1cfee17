"""Data: files, generators and bundled sets as checked, scalable samples."""

from convexfs.data.checks import check_classes, check_finite, warn_constant_columns
from convexfs.data.dataset import Dataset, make_dataset
from convexfs.data.files import read_file
from convexfs.data.specs import BUNDLED, load
from convexfs.data.synthetic import GENERATORS

__all__ = [
    "BUNDLED",
    "GENERATORS",
    "Dataset",
    "check_classes",
    "check_finite",
    "load",
    "make_dataset",
    "read_file",
    "warn_constant_columns",
]
