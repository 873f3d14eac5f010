"""How symmetries act on overlaps, moments and coordinates, and the subspaces that a group of them
leaves alone."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..scenario.attentions.symmetry import Symmetry
from .correlated import group as joined
from .layout import Layout
from .overlaps import Overlaps, Shape, coordinate_layout, moment_layout, overlap_layout

Group = tuple[Symmetry, ...]


def stabiliser(group: Group, overlaps: Overlaps) -> Group:
    """The symmetries that leave the given overlaps as they are."""
    overlaps = joined(overlaps)
    shape = (*overlaps.theta.shape,)
    flat = np.concatenate([np.ravel(part) for part in overlaps])
    images = _overlap_actions(group, shape) @ flat
    same = np.abs(images - flat).max(1) <= 1e-12 * np.abs(flat).max()
    return tuple(g for g, is_same in zip(group, same, strict=True) if is_same)


def product(g: Symmetry, h: Symmetry) -> Symmetry:
    """First h, then g."""
    signs = lambda a, b: tuple(x * y for x, y in zip(a, b, strict=True))
    return Symmetry(
        tuple(h.order[i] for i in g.order), signs(g.student, h.student), signs(g.teacher, h.teacher)
    )


def representatives(group: Group, subgroup: Group) -> list[Symmetry]:
    """One element r of every coset {h r : h in subgroup}."""
    chosen, covered = [], set()
    for g in group:
        if g not in covered:
            chosen.append(g)
            covered |= {product(h, g) for h in subgroup}
    return chosen


@lru_cache(maxsize=64)
def moment_average(subgroup: Group, shape: Shape) -> np.ndarray:
    """The matrix, (F, F), that averages flattened moments over a subgroup; losses are left as they
    are."""
    return np.mean([_action(_turn(g, shape), moment_layout(shape), FULL) for g in subgroup], axis=0)


@lru_cache(maxsize=64)
def invariant_basis(subgroup: Group, shape: Shape) -> np.ndarray:
    """An orthonormal basis, as rows, of the coordinates that a subgroup leaves alone."""
    return _orbits(np.mean([coordinate_action(g, shape) for g in subgroup], axis=0))


@lru_cache(maxsize=256)
def coordinate_action(g: Symmetry, shape: Shape) -> np.ndarray:
    """How a symmetry moves the coordinates: a signed permutation, (coordinates, coordinates)."""
    return _action(_turn(g, shape), coordinate_layout(shape), ("triangle", "triangle", "s", "st"))


def response_action(g: Symmetry, shape: Shape) -> np.ndarray:
    """How a symmetry acts on flattened V: a signed permutation."""
    return _action(_turn(g, shape), Layout(overlap_layout(shape).parts[1:2]), FULL[1:2])


@lru_cache(maxsize=64)
def _overlap_actions(group: Group, shape: Shape) -> np.ndarray:
    return np.array([_action(_turn(g, shape), overlap_layout(shape), FULL) for g in group])


FULL = (
    "ss",
    "ss",
    "s",
    "st",
)  # the fields that q, V, m and θ have an index of: of the student, of the teacher


class _Turn(NamedTuple):
    """What a symmetry does to groups of fields: their `order`, and within each, of the fields of
    student and teacher (`s`, `t`) which one comes where, and its sign."""

    order: list[int]
    source: dict[str, np.ndarray]
    sign: dict[str, np.ndarray]


def _turn(g: Symmetry, shape: Shape) -> _Turn:
    groups, tokens, fields = shape[0], len(g.order), {"s": shape[1], "t": shape[2]}
    signs = {"s": np.array(g.student), "t": np.array(g.teacher)}
    if groups == tokens:  # every token on its own
        return _Turn(
            list(g.order), {side: np.arange(count) for side, count in fields.items()}, signs
        )
    inside = lambda rank: (rank * np.array(g.order)[:, None] + np.arange(rank)).ravel()
    sources = {side: inside(count // tokens) for side, count in fields.items()}
    return _Turn([0], sources, {side: np.tile(sign, tokens) for side, sign in signs.items()})


def _image(turn: _Turn, places: np.ndarray, fields: str) -> tuple[np.ndarray, np.ndarray]:
    """Where each entry of a part comes from, and its sign; the part has the given `fields` as its
    inner indices."""
    if fields == "triangle":
        size = len(turn.source["s"])
        rows, columns = np.tril_indices(size)
        square = np.zeros((len(places), size, size), int)
        square[:, rows, columns] = square[:, columns, rows] = places
        source, sign = _image(turn, square, "ss")
        return source[:, rows, columns], sign[rows, columns]
    source, sign = places[turn.order], np.ones(())
    for axis, side in enumerate(fields, start=1):
        source = np.take(source, turn.source[side], axis=axis)
        sign = np.multiply.outer(sign, turn.sign[side])
    return source, sign


def _action(turn: _Turn, layout: Layout, fields: tuple[str, ...]) -> np.ndarray:
    """A signed permutation of the parts that have `fields`; parts beyond them stay as they are."""
    source, factor = np.arange(layout.size), np.ones(layout.size)
    for places, inner in zip(layout.split(np.arange(layout.size)), fields, strict=False):
        target = places.ravel()
        came, sign = _image(turn, places, inner)
        source[target], factor[target] = came.ravel(), np.broadcast_to(sign, places.shape).ravel()
    action = np.zeros((layout.size, layout.size))
    action[np.arange(layout.size), source] = factor
    return action


def _orbits(projector: np.ndarray) -> np.ndarray:
    """The range of a projector that averages signed permutations: its distinct columns, which are
    orthogonal."""
    basis: list[np.ndarray] = []
    for column in projector.T:
        length = np.linalg.norm(column)
        if length > 1e-9 and not any(abs(column @ other) > 1e-9 for other in basis):
            basis.append(np.where(np.abs(column) < 1e-12, 0.0, column / length))
    return np.array(basis)
