"""Where things lie on a machine is nobody else's business: a page names files only."""

import re
from typing import Any

from convexfs.study.outcomes import Frame, from_common_folder

#: An absolute path inside a text, and the name of the file in it.
_PLACE = re.compile(r"(?<![\w.:/\\<])(?:/|[A-Za-z]:[\\/])(?:[^\s/\\'\"<>:,;()]+[\\/])+(?=[^\s/\\])")
#: Columns that hold a path and nothing else.
_PATHS = ("problem_file", "data")


def without_places(frame: Frame) -> Frame:
    """Rows of a run in which files go by their names."""
    told = {name: from_common_folder(frame[name]) for name in _PATHS}
    folders = sorted(_folders(frame), key=len, reverse=True)
    said = frame["failure"].map(lambda text: unplaced(text, folders), na_action="ignore")
    return frame.assign(**told, failure=said.astype("string"))


def _folders(frame: Frame) -> set[str]:
    paths = {str(path) for name in _PATHS for path in frame[name].dropna().unique()}
    return {path.rpartition("/")[0] + "/" for path in paths if path.startswith("/")}


def unplaced(text: Any, folders: list[str]) -> str:
    """A text without those folders, which may have blanks in them, and any other path."""
    for folder in folders:
        text = str(text).replace(folder, "")
    return _PLACE.sub("", str(text))
