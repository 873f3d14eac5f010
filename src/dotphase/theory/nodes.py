"""The nodes of the output half-step: a rule's points, their images under the scenario's symmetries, cut into blocks."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..compilation import on_device
from ..gaussian import Rule
from ..scenario.symmetry import Symmetry, apply
from .averages import Block
from .overlaps import Overlaps

BLOCK = 1024  # nodes worked on together: small enough to stay in the cache, large enough to keep it busy


class Ensemble(NamedTuple):
    """Nodes for overlaps that are invariant under the subgroup `stabiliser` of all `group`.

    Of the orbit of a point only one node per coset of the stabiliser is evaluated; `average`, (F, F), then averages the
    moments over the stabiliser, which gives what the whole orbit would have given. `basis` spans the invariant
    coordinates, (invariant, coordinates). `rough` is the first block as a rule of its own.
    """

    blocks: list[Block]
    rough: Block
    average: np.ndarray
    basis: np.ndarray


@lru_cache(maxsize=8)
def ensemble(rule: Rule, group: tuple[Symmetry, ...], stabiliser: tuple[Symmetry, ...], shape) -> Ensemble:
    """Nodes of `rule` for a scenario of shape (L, r_s, r_t) with symmetries `group`."""
    length, r_s, r_t = shape
    points, weights = rule.nodes(length * (r_s + r_t), images=len(group))
    xi = points[:, : length * r_s].reshape(-1, length, r_s, points.shape[-1])
    eta = points[:, length * r_s :].reshape(-1, length, r_t, points.shape[-1])
    chosen = representatives(group, stabiliser)
    xi = np.concatenate([xi[:, list(g.order)] * np.array(g.student)[:, None] for g in chosen], axis=-1)
    eta = np.concatenate([eta[:, list(g.order)] * np.array(g.teacher)[:, None] for g in chosen], axis=-1)
    weights = np.concatenate([weights] * len(chosen), axis=-1) / len(chosen)
    average = moment_average(stabiliser, shape)
    blocks = _blocks(xi, eta, weights)
    rough = blocks[0]._replace(weights=blocks[0].weights / blocks[0].weights.sum(1, keepdims=True))
    blocks, rough = [on_device(block) for block in blocks], on_device(rough)  # once, and not at every evaluation
    return Ensemble(blocks, rough, average, invariant_basis(stabiliser, shape))


def stabiliser(group: tuple[Symmetry, ...], overlaps: Overlaps) -> tuple[Symmetry, ...]:
    """The symmetries that leave the given overlaps as they are."""
    parts = [np.asarray(part) for part in overlaps]
    flat = np.concatenate([part.ravel() for part in parts])
    images = _actions(group, tuple(part.shape for part in parts)) @ flat
    same = np.abs(images - flat).max(1) <= 1e-12 * np.abs(flat).max()
    return tuple(g for g, is_same in zip(group, same, strict=True) if is_same)


@lru_cache(maxsize=64)
def _actions(group: tuple[Symmetry, ...], shapes: tuple[tuple[int, ...], ...]) -> np.ndarray:
    """How each symmetry acts on flattened overlaps, (group, size, size)."""
    return np.array([_mean_action((g,), shapes) for g in group])


def product(g: Symmetry, h: Symmetry) -> Symmetry:
    """First h, then g."""
    signs = lambda a, b: tuple(x * y for x, y in zip(a, b, strict=True))
    return Symmetry(tuple(h.order[i] for i in g.order), signs(g.student, h.student), signs(g.teacher, h.teacher))


def representatives(group: tuple[Symmetry, ...], subgroup: tuple[Symmetry, ...]) -> list[Symmetry]:
    """One element r of every coset {h r : h in subgroup}."""
    chosen, covered = [], set()
    for g in group:
        if g not in covered:
            chosen.append(g)
            covered |= {product(h, g) for h in subgroup}
    return chosen


@lru_cache(maxsize=64)
def moment_average(subgroup: tuple[Symmetry, ...], shape) -> np.ndarray:
    """The matrix, (F, F), that averages flattened moments over a subgroup; losses are left as they are."""
    length, r_s, r_t = shape
    shapes = [(length, r_s, r_s), (length, r_s, r_s), (length, r_s), (length, r_s, r_t)]
    matrix = _mean_action(subgroup, shapes)
    full = np.eye(len(matrix) + 3)
    full[:-3, :-3] = matrix
    return full


@lru_cache(maxsize=64)
def invariant_basis(subgroup: tuple[Symmetry, ...], shape) -> np.ndarray:
    """An orthonormal basis, as rows, of the coordinates that a subgroup leaves alone."""
    return _orbits(np.mean([coordinate_action(g, shape) for g in subgroup], axis=0))


def coordinate_action(g: Symmetry, shape) -> np.ndarray:
    """How a symmetry moves the coordinates: a signed permutation, (coordinates, coordinates)."""
    length, r_s, r_t = shape
    triangle = r_s * (r_s + 1) // 2
    rows, columns = np.tril_indices(r_s)
    total = length * (2 * triangle + r_s + r_s * r_t)
    cuts = np.cumsum([length * triangle, length * triangle, length * r_s])
    C, V, m, phi = np.split(np.arange(total), cuts)
    s, t, order = np.array(g.student), np.array(g.teacher), list(g.order)
    corner = s[rows] * s[columns]
    source = [part.reshape(length, -1)[order].ravel() for part in (C, V, m, phi)]
    sign = [
        np.tile(corner, length),
        np.tile(corner, length),
        np.tile(s, length),
        np.tile(np.outer(s, t).ravel(), length),
    ]
    action = np.zeros((total, total))
    action[np.arange(total), np.concatenate(source)] = np.concatenate(sign)
    return action


def _mean_action(subgroup, shapes) -> np.ndarray:
    sizes = [int(np.prod(shape)) for shape in shapes]
    matrix = np.zeros((sum(sizes), sum(sizes)))
    index = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
    parts = [i.reshape(shape) for i, shape in zip(index, shapes, strict=True)]
    ones = [np.ones(shape) for shape in shapes]
    for g in subgroup:
        source = [part[list(g.order)].ravel() for part in parts]
        q, V, m, theta = apply(g, *ones)
        signs = np.concatenate([part.ravel() for part in (q, V, m, theta)])
        matrix[np.arange(len(matrix)), np.concatenate(source)] += signs / len(subgroup)
    return matrix


def _orbits(projector: np.ndarray) -> np.ndarray:
    """The range of a projector that averages signed permutations: its distinct columns, which are orthogonal."""
    basis: list[np.ndarray] = []
    for column in projector.T:
        length = np.linalg.norm(column)
        if length > 1e-9 and not any(abs(column @ other) > 1e-9 for other in basis):
            basis.append(np.where(np.abs(column) < 1e-12, 0.0, column / length))
    return np.array(basis)


def _blocks(xi: np.ndarray, eta: np.ndarray, weights: np.ndarray) -> list[Block]:
    replicates, count = weights.shape
    per = BLOCK // replicates
    if missing := -count % per:  # nodes of no weight fill the last block
        xi, eta, weights = (np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, missing)]) for array in (xi, eta, weights))
    together = lambda array: np.moveaxis(array, 0, 2).reshape(*array.shape[1:3], -1)
    cuts = [slice(start, start + per) for start in range(0, count, per)]
    return [Block(together(xi[..., cut]), together(eta[..., cut]), weights[:, cut]) for cut in cuts]
