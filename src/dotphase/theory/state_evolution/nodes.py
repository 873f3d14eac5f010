"""The nodes of the output half-step: a rule's points, their images under the scenario's symmetries,
cut into blocks."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...numerics.compilation import on_device
from ...numerics.rules import Rule, Sobol
from ...overlaps.overlaps import Shape
from ...overlaps.symmetric import Group, invariant_basis, moment_average, representatives
from ...scenario.scales import Scales
from .averages import Block

# nodes worked on together: small enough to stay in the cache, large enough to keep it busy
BLOCK = 1024
MOST_NODES = 2**22  # of a tensor rule, with every combination of scales


class Ensemble(NamedTuple):
    """Nodes for overlaps that are invariant under a subgroup of all symmetries.

    Of the orbit of a point only one node per coset of the subgroup is evaluated; `average`, (F, F),
    then averages the moments over the subgroup, which gives what the whole orbit would have given.
    `basis` spans the invariant coordinates, (invariant, coordinates). `rough` is the first block as
    a rule of its own.
    """

    blocks: list[Block]
    rough: Block
    average: np.ndarray
    basis: np.ndarray


@lru_cache(maxsize=8)
def ensemble(
    rule: Rule, group: Group, subgroup: Group, shape: Shape, scales: Scales | None = None
) -> Ensemble:
    """Nodes of `rule` for a scenario of `shape` (`Structure.shape`) with symmetries `group`,
    `subgroup` of which are kept, and random `scales` if it has them."""
    (groups, a, b), length = shape, len(group[0].order)
    points, weights, scale = nodes_with_scales(
        rule, groups * (a + b), length, scales, images=len(group)
    )
    xi = points[:, : groups * a].reshape(len(points), length, -1, points.shape[-1])
    eta = points[:, groups * a :].reshape(len(points), length, -1, points.shape[-1])
    chosen = representatives(group, subgroup)
    xi = np.concatenate(
        [xi[:, list(g.order)] * np.array(g.student)[:, None] for g in chosen], axis=-1
    )
    eta = np.concatenate(
        [eta[:, list(g.order)] * np.array(g.teacher)[:, None] for g in chosen], axis=-1
    )
    weights = np.concatenate([weights] * len(chosen), axis=-1) / len(chosen)
    if scale is not None:
        scale = np.concatenate([scale[:, list(g.order)] for g in chosen], axis=-1)
    grouped = lambda array, inside: array.reshape(len(array), groups, inside, -1)
    blocks = _blocks(grouped(xi, a), grouped(eta, b), weights, rule.pool, scale)
    rough = blocks[0]._replace(weights=blocks[0].weights / blocks[0].weights.sum(1, keepdims=True))
    blocks, rough = (
        [on_device(block) for block in blocks],
        on_device(rough),
    )  # once, and not at every evaluation
    return Ensemble(
        blocks, rough, moment_average(subgroup, shape), invariant_basis(subgroup, shape)
    )


def nodes_with_scales(
    rule: Rule, dimension: int, length: int, scales: Scales | None, images: int = 1
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Nodes of `rule` in `dimension` normals, (R, dimension, n), their weights, (R, n), and the
    scale of every token at each, (R, L, n), None if there are no `scales`.

    Sobol' points have further coordinates, of which the scales are the inverse distribution: so
    they are stratified along with the rest. A tensor rule, made for smooth functions, is repeated
    for every combination of scales.
    """
    if scales is None:
        points, weights = rule.nodes(dimension, images=images)
        return points, weights, None
    if isinstance(rule, Sobol):
        from scipy.special import ndtr

        points, weights = rule.nodes(dimension + scales.dimension(length), images=images)
        return (
            points[:, :dimension],
            weights,
            np.array([scales.at(ndtr(each)) for each in points[:, dimension:]]),
        )
    points, weights = rule.nodes(dimension, images=images)
    values, share = scales.outcomes(length)
    repeats, every = points.shape[-1], points.shape[-1] * len(share)
    if every > MOST_NODES:
        raise ValueError(
            f"rule: {repeats} nodes for each of {len(share)} combinations of scales are too many; use Sobol"
        )
    scale = np.broadcast_to(np.repeat(values.T, repeats, axis=1), (len(points), length, every))
    return (
        np.tile(points, (1, 1, len(share))),
        np.concatenate([weights * each for each in share], axis=-1),
        scale,
    )


def _blocks(
    xi: np.ndarray, eta: np.ndarray, weights: np.ndarray, pool: np.ndarray, scale: np.ndarray | None
) -> list[Block]:
    replicates, count = weights.shape
    per = BLOCK // replicates
    missing = -count % per  # nodes of no weight fill the last block
    full = lambda array, fill: np.pad(
        array, [(0, 0)] * (array.ndim - 1) + [(0, missing)], constant_values=fill
    )
    xi, eta, weights = full(xi, 0.0), full(eta, 0.0), full(weights, 0.0)
    scale = None if scale is None else full(scale, 1.0)
    together = lambda array, cut: np.moveaxis(array[..., cut], 0, -2).reshape(
        *array.shape[1:-1], -1
    )
    cuts = [slice(start, start + per) for start in range(0, count, per)]
    scales = [None if scale is None else together(scale, cut) for cut in cuts]
    every = zip(cuts, scales, strict=True)
    return [
        Block(together(xi, cut), together(eta, cut), weights[:, cut], pool, s) for cut, s in every
    ]
