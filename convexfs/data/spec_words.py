"""Words after the name of a data set, as in ``lab.csv --target status --drop age,site``.

They are those of ``convexfs select``, so that a problem file's DATA can read a table as the
command does.
"""

import csv
import shlex
from typing import Any

from convexfs.errors import InputError, did_you_mean

_LISTS = ("drop", "categorical")
_FLAGS = ("transpose",)
_TEXTS = ("target", "id", "labels", "sep", "decimal", "encoding", "sheet", "layer", "impute")
_MARK = " --"


def split_spec(spec: str) -> tuple[str, dict[str, Any]]:
    """Split a spec into the name of the data and what is said of reading them.

    >>> split_spec("lab.csv --drop age,site --transpose")
    ('lab.csv', {'drop': ['age', 'site'], 'transpose': True})

    Raises
    ------
    InputError
        If a word is not known, or has no value.
    """
    name, mark, rest = spec.partition(_MARK)
    if not mark:
        return spec, {}
    try:
        words = shlex.split("--" + rest)
    except ValueError as error:
        raise InputError(f"{spec} cannot be read ({error})") from None
    said: dict[str, Any] = {}
    while words:
        word = words.pop(0)
        option = word.removeprefix("--")
        known = (*_LISTS, *_FLAGS, *_TEXTS)
        if not word.startswith("--") or option not in known:
            raise InputError(f"{spec} says '{word}'; {did_you_mean(option, known)}")
        if option in _FLAGS:
            said[option] = True
            continue
        if not words:
            raise InputError(f"{spec} says '{word}' without a value: write {word} NAME")
        value = words.pop(0)
        said[option] = listed(value) if option in _LISTS else value
    return name.strip(), said


def renamed(spec: str, name: str) -> str:
    """The same words after another name.

    >>> renamed("lab.csv --drop age", "here/lab.csv")
    'here/lab.csv --drop age'
    """
    return name + "".join(spec.partition(_MARK)[1:])


def listed(text: str) -> list[str]:
    """Split names at commas; one with a comma in it is quoted, as in a csv file's header."""
    return next(csv.reader([text], skipinitialspace=True), [])
