"""The nodes of the output half-step: a rule's points, their images under the scenario's symmetries, cut into blocks."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..compilation import on_device
from ..gaussian import Rule
from ..overlaps import Shape
from ..overlaps.symmetric import Group, invariant_basis, moment_average, representatives
from .averages import Block

BLOCK = 1024  # nodes worked on together: small enough to stay in the cache, large enough to keep it busy


class Ensemble(NamedTuple):
    """Nodes for overlaps that are invariant under a subgroup of all symmetries.

    Of the orbit of a point only one node per coset of the subgroup is evaluated; `average`, (F, F), then averages the
    moments over the subgroup, which gives what the whole orbit would have given. `basis` spans the invariant
    coordinates, (invariant, coordinates). `rough` is the first block as a rule of its own.
    """

    blocks: list[Block]
    rough: Block
    average: np.ndarray
    basis: np.ndarray


@lru_cache(maxsize=8)
def ensemble(rule: Rule, group: Group, subgroup: Group, shape: Shape) -> Ensemble:
    """Nodes of `rule` for a scenario of shape (L, r_s, r_t) with symmetries `group`, `subgroup` of which are kept."""
    length, r_s, r_t = shape
    points, weights = rule.nodes(length * (r_s + r_t), images=len(group))
    xi = points[:, : length * r_s].reshape(-1, length, r_s, points.shape[-1])
    eta = points[:, length * r_s :].reshape(-1, length, r_t, points.shape[-1])
    chosen = representatives(group, subgroup)
    xi = np.concatenate([xi[:, list(g.order)] * np.array(g.student)[:, None] for g in chosen], axis=-1)
    eta = np.concatenate([eta[:, list(g.order)] * np.array(g.teacher)[:, None] for g in chosen], axis=-1)
    weights = np.concatenate([weights] * len(chosen), axis=-1) / len(chosen)
    blocks = _blocks(xi, eta, weights, rule.pool)
    rough = blocks[0]._replace(weights=blocks[0].weights / blocks[0].weights.sum(1, keepdims=True))
    blocks, rough = [on_device(block) for block in blocks], on_device(rough)  # once, and not at every evaluation
    return Ensemble(blocks, rough, moment_average(subgroup, shape), invariant_basis(subgroup, shape))


def _blocks(xi: np.ndarray, eta: np.ndarray, weights: np.ndarray, pool: np.ndarray) -> list[Block]:
    replicates, count = weights.shape
    per = BLOCK // replicates
    if missing := -count % per:  # nodes of no weight fill the last block
        xi, eta, weights = (np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, missing)]) for array in (xi, eta, weights))
    together = lambda array: np.moveaxis(array, 0, 2).reshape(*array.shape[1:3], -1)
    cuts = [slice(start, start + per) for start in range(0, count, per)]
    return [Block(together(xi[..., cut]), together(eta[..., cut]), weights[:, cut], pool) for cut in cuts]
