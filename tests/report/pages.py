"""Runs to write pages of, and the numbers that are in a page."""

import json
import math
import re
import zlib
from base64 import b64decode, b85decode

import numpy as np
import pandas as pd

PLAIN = """'''RELIEF as printed: <b>max</b> w'z.'''
METHOD = "relief"
DATA = ["iris", "wine"]
GRID = {"n_neighbors": [1, 2, 3, 4]}
SOLVERS = ["native", "CLARABEL", "SCS", "HIGHS"]
"""
HOSTILE = """
import cvxpy as cp
METHOD = "relief"
DATA = ["iris"]
GRID = {"word": ["</script><script>alert(1)</script>"]}
SOLVERS = ["CLARABEL"]
def build(z, word):
    raise ArithmeticError(f"<img src=x onerror=alert(2)> {word}")
"""


def decoded(column):
    """What the page makes of an encoded column, None for what is missing."""
    if "doubles" in column:
        planes = np.frombuffer(b64decode(column["doubles"]), dtype=np.uint8).reshape(8, -1)
        doubles = np.frombuffer(planes.T.tobytes(), dtype="<f8").tolist()
        return [None if math.isnan(value) else value for value in doubles]
    if "codes" in column:
        return [None if code < 0 else column["levels"][code] for code in column["codes"]]
    return column["values"]


def numbers_in(page):
    return json.loads(unpacked(page, "numbers"))


def unpacked(page, name):
    """The text of a script element that the browser unpacks."""
    (text,) = re.findall(rf'<script type="text/plain" id="{name}">(.*?)</script>', page, re.S)
    assert "<" not in text
    return zlib.decompress(b85decode(text.replace(",", "<"))).decode()


def readable(page):
    """The page with its numbers as text, to search it for words."""
    return f"{page}\n{unpacked(page, 'numbers')}"


def frame_of(table):
    return pd.DataFrame({column["name"]: decoded(column) for column in table["columns"]})


def assert_same(table, frame):
    shown = frame_of(table)
    assert set(shown) == set(frame)
    for name in frame:
        expected = frame[name].astype(object).where(frame[name].notna(), None).tolist()
        assert shown[name].astype(object).where(shown[name].notna(), None).tolist() == expected
