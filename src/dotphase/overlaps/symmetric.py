"""How symmetries act on overlaps, moments and coordinates, and the subspaces that a group of them leaves alone."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..scenario.symmetry import Symmetry
from .layout import Layout
from .overlaps import Overlaps, Shape, coordinate_layout, moment_layout, overlap_layout

Group = tuple[Symmetry, ...]


def stabiliser(group: Group, overlaps: Overlaps) -> Group:
    """The symmetries that leave the given overlaps as they are."""
    shape = (*overlaps.theta.shape,)
    flat = np.concatenate([np.ravel(part) for part in overlaps])
    images = _overlap_actions(group, shape) @ flat
    same = np.abs(images - flat).max(1) <= 1e-12 * np.abs(flat).max()
    return tuple(g for g, is_same in zip(group, same, strict=True) if is_same)


def product(g: Symmetry, h: Symmetry) -> Symmetry:
    """First h, then g."""
    signs = lambda a, b: tuple(x * y for x, y in zip(a, b, strict=True))
    return Symmetry(tuple(h.order[i] for i in g.order), signs(g.student, h.student), signs(g.teacher, h.teacher))


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
    """The matrix, (F, F), that averages flattened moments over a subgroup; losses are left as they are."""
    return np.mean([_action(g, moment_layout(shape), _full(g)) for g in subgroup], axis=0)


@lru_cache(maxsize=64)
def invariant_basis(subgroup: Group, shape: Shape) -> np.ndarray:
    """An orthonormal basis, as rows, of the coordinates that a subgroup leaves alone."""
    return _orbits(np.mean([coordinate_action(g, shape) for g in subgroup], axis=0))


@lru_cache(maxsize=256)
def coordinate_action(g: Symmetry, shape: Shape) -> np.ndarray:
    """How a symmetry moves the coordinates: a signed permutation, (coordinates, coordinates)."""
    rows, columns = np.tril_indices(shape[1])
    s, t = np.array(g.student), np.array(g.teacher)
    corner = s[rows] * s[columns]
    return _action(g, coordinate_layout(shape), (corner, corner, s, np.outer(s, t)))


def response_action(g: Symmetry, shape: Shape) -> np.ndarray:
    """How a symmetry acts on flattened V, (L r_s², L r_s²)."""
    return _action(g, Layout(overlap_layout(shape).parts[1:2]), _full(g)[1:2])


@lru_cache(maxsize=64)
def _overlap_actions(group: Group, shape: Shape) -> np.ndarray:
    return np.array([_action(g, overlap_layout(shape), _full(g)) for g in group])


def _full(g: Symmetry) -> tuple[np.ndarray, ...]:
    """The signs that q, V, m and θ of one token get."""
    s, t = np.array(g.student), np.array(g.teacher)
    return np.outer(s, s), np.outer(s, s), s, np.outer(s, t)


def _action(g: Symmetry, layout: Layout, signs: tuple[np.ndarray, ...]) -> np.ndarray:
    """A permutation of tokens with signs, on the parts that have `signs`; parts beyond them stay as they are."""
    source, factor = np.arange(layout.size), np.ones(layout.size)
    places = layout.split(np.arange(layout.size))
    for k, sign in enumerate(signs):
        target = places[k].ravel()
        source[target] = places[k][list(g.order)].ravel()
        factor[target] = np.tile(sign.ravel(), len(g.order))
    action = np.zeros((layout.size, layout.size))
    action[np.arange(layout.size), source] = factor
    return action


def _orbits(projector: np.ndarray) -> np.ndarray:
    """The range of a projector that averages signed permutations: its distinct columns, which are orthogonal."""
    basis: list[np.ndarray] = []
    for column in projector.T:
        length = np.linalg.norm(column)
        if length > 1e-9 and not any(abs(column @ other) > 1e-9 for other in basis):
            basis.append(np.where(np.abs(column) < 1e-12, 0.0, column / length))
    return np.array(basis)
