"""Permute labels or rows, by groups and within blocks."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from convexfs.errors import InputError


def permuted_labels(
    codes: np.ndarray, number: int, seed: int, groups: Any = None, blocks: Any = None
) -> np.ndarray:
    """Return `number` permutations of the labels as rows; groups stay whole, within blocks.

    Parameters
    ----------
    codes : array (N,)
        Classes, or numbers.
    number : int
    seed : int
        Permutation b depends on this and on b alone.
    groups : array (N,), optional
        Rows of one group keep the same label, such as replicates of a subject: whole groups
        are permuted.
    blocks : array (N,), optional
        Labels are permuted within each block only, such as a batch.
    """
    members, unit_codes, _ = _units(codes, groups, blocks)
    orders = _unit_orders(codes, number, seed, groups, blocks)
    return np.array([unit_codes[order][members] for order in orders])


def permuted_rows(
    codes: np.ndarray, number: int, seed: int, groups: Any = None, blocks: Any = None
) -> np.ndarray:
    """Return `number` permutations of row indices as rows; groups stay whole, within blocks.

    Parameters are those of :func:`permuted_labels`. A group takes the rows of another group;
    if that has fewer rows they are repeated, if it has more some are left out.
    """
    members = _units(codes, groups, blocks)[0]
    order, sizes = np.argsort(members, kind="stable"), np.bincount(members)
    first = np.cumsum(sizes) - sizes
    place = np.empty(len(codes), np.int64)
    place[order] = np.arange(len(codes)) - np.repeat(first, sizes)
    return np.array([
        order[first[unit[members]] + place % sizes[unit[members]]]
        for unit in _unit_orders(codes, number, seed, groups, blocks)
    ])  # fmt: skip


def _unit_orders(
    codes: np.ndarray, number: int, seed: int, groups: Any, blocks: Any
) -> Iterator[np.ndarray]:
    """Yield permutations of group (or row) indices within blocks; raise if no label can change."""
    _, unit_codes, unit_blocks = _units(codes, groups, blocks)
    together = [np.flatnonzero(unit_blocks == block) for block in range(unit_blocks.max() + 1)]
    if all(np.ptp(unit_codes[at]) == 0 for at in together):
        where = "any block" if blocks is not None else "the groups"
        raise InputError(f"labels do not differ within {where}: there is nothing to permute")
    for child in np.random.SeedSequence(seed).spawn(number):
        rng, order = np.random.default_rng(child), np.arange(len(unit_codes))
        for at in together:
            order[at] = rng.permutation(at)
        yield order


def _units(
    codes: np.ndarray, groups: Any, blocks: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return each row's unit number (its group, or the row), and each unit's label and block."""
    block_of = np.zeros(len(codes), np.int64) if blocks is None else _coded("blocks", blocks, codes)
    if groups is None:
        return np.arange(len(codes)), codes, block_of
    members = _coded("groups", groups, codes)
    first = np.unique(members, return_index=True)[1]
    if np.any(codes[first][members] != codes):
        raise InputError(
            "a group has rows of several labels: groups are rows that share their label, such as "
            "replicates of a subject; where labels differ within a unit, give it as blocks"
        )
    if np.any(block_of[first][members] != block_of):
        raise InputError("a group lies in several blocks: put each group into one block")
    return members, codes[first], block_of[first]


def check_units(codes: np.ndarray, groups: Any, blocks: Any) -> None:
    """Raise if given groups or blocks contradict the labels, or let no label change."""
    if groups is not None or blocks is not None:
        next(_unit_orders(codes, 1, 0, groups, blocks))


def _coded(name: str, values: Any, codes: np.ndarray) -> np.ndarray:
    values = np.asarray(values)
    if values.shape != codes.shape:
        raise InputError(f"{name} must have one entry for each of the {len(codes)} rows")
    return np.unique(values.astype(str), return_inverse=True)[1]
