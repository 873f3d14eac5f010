"""Where to start: named points in the space of overlaps, each in the basin of one mechanism.

A start is what weights Q of that kind would have: `semantic`, Q = Q* spread over the student's
columns; `positional`, Q along the positional encodings; `uninformed`, Q random. Each has a little
noise, so that no overlap is degenerate.
"""

from __future__ import annotations

import numpy as np

from ...overlaps.coordinates import SMALLEST
from ...overlaps.correlated import is_joint, single
from ...overlaps.overlaps import Overlaps
from ...scenario.scenario import Scenario

NAMES = ("semantic", "positional", "uninformed")
INSTEAD = {
    "random": 'random weights are called "uninformed" in the theory; "random" is a start of training'
}
NOISE = 0.1  # variance of the noise, in units of the signal's


def start(scenario: Scenario, name: str) -> Overlaps:
    """The overlaps of a named start."""
    make = {"semantic": _semantic, "positional": _positional, "uninformed": _uninformed}
    if name in INSTEAD:
        raise ValueError(f"start: {INSTEAD[name]}")
    if name not in make:
        raise ValueError(f"start: expected one of {', '.join(NAMES)}, or overlaps; got {name!r}")
    q, m, theta = make[name](scenario)
    mean = scenario.law.mean_gamma
    # A response between the one of no data, γ/λ, and the one of many.
    curvature = scenario.ridge + 0.1 * scenario.sample_ratio * mean
    level = mean / curvature
    if scenario.structure.joint:
        level = scenario.law.mean_Gamma / np.sqrt(np.outer(curvature, curvature))
    return Overlaps(q, level[..., None, None] * np.eye(scenario.student.rank), m, theta)


def as_state(scenario: Scenario, overlaps: Overlaps) -> Overlaps:
    """Overlaps as the equations of a scenario have them: of single tokens, or of every two.

    Of single tokens those of every two are made as weights have them that treat all directions
    alike: X_ll' ∝ Γ_ll'.
    """
    if scenario.structure.joint == is_joint(overlaps.theta):
        return overlaps
    if not scenario.structure.joint:
        return single(overlaps)
    Gamma = scenario.law.mean_Gamma
    own = np.diagonal(Gamma)[:, None, None]
    spread = lambda part: Gamma[:, :, None, None] * (part / own).mean(0)
    return Overlaps(spread(overlaps.q), spread(overlaps.V), overlaps.m, spread(overlaps.theta))


def check_overlaps(start: object) -> None:
    """Refuse what is neither a name nor overlaps."""
    if not all(hasattr(start, part) for part in ("q", "V", "m", "theta")):
        given = "weights" if np.ndim(start) else type(start).__name__  # type: ignore[arg-type]
        wanted = f"expected one of {', '.join(NAMES)}, `Overlaps(q, V, m, theta)` or a solution"
        raise ValueError(f"start: {wanted}, got {given}; `dotphase.train` starts from weights")


def mechanism(overlaps: Overlaps, rho: np.ndarray, errors: Overlaps | None = None) -> str:
    """Which mechanism overlaps show: m ≠ 0 is positional, θ ≠ 0 semantic, both mixed, none
    uninformed.

    With their `errors` given, what is within three of them counts as zero. Weights that vanish show
    nothing.
    """
    if vanished(overlaps):
        return "uninformed"
    noise_m, noise_theta = (
        (0.0, 0.0) if errors is None else (3 * np.max(errors.m), 3 * np.max(errors.theta))
    )
    q = max(float(np.abs(overlaps.q).max()), 1e-300)
    positional = float(np.abs(overlaps.m).max()) > max(1e-4 * np.sqrt(q), noise_m)
    semantic = float(np.abs(overlaps.theta).max()) > max(
        1e-4 * np.sqrt(q * float(np.abs(rho).max())), noise_theta
    )
    return {(True, True): "mixed", (True, False): "positional", (False, True): "semantic"}.get(
        (positional, semantic), "uninformed"
    )


def vanished(overlaps: Overlaps) -> bool:
    """Whether the weights are zero, Q → 0: fields far below one, in an attention that does not feel
    them."""
    return float(np.abs(overlaps.q).max()) < SMALLEST**2


def _semantic(scenario: Scenario):
    rho, spread = scenario.law.joint_rho, np.asarray(scenario.student.spread)
    columns = min(len(spread), scenario.teacher.rank)
    E = np.vstack(
        [spread[:columns], np.zeros((scenario.teacher.rank - columns, scenario.student.rank))]
    )
    q = np.einsum("ta,...tu,ub->...ab", E, rho, E) + NOISE * _level(rho) * np.eye(
        scenario.student.rank
    )
    return (
        q,
        np.zeros((scenario.length, scenario.student.rank)),
        np.einsum("ta,...tu->...au", E, rho),
    )


def _positional(scenario: Scenario):
    along_positions = 0.3  # size of positional weights: fields of this order
    law, spread = scenario.law, np.asarray(scenario.student.spread)
    values, vectors = np.linalg.eigh(law.gram)
    order = np.argsort(values)[::-1][: len(spread)]
    kept = [k for k in order if values[k] > 1e-9 * max(values.max(), 1e-300)]
    if not kept or values.max() <= 0:
        raise ValueError(
            "start: there is no positional start, since all positional encodings are zero"
        )
    along = (
        np.sqrt(values[kept]) * vectors[:, kept]
    )  # p_l · ê_k, ê_k the principal directions of the encodings
    along = along * np.where(along[np.abs(along).argmax(0), range(len(kept))] < 0, -1, 1)
    E = spread[: len(kept)]
    m = along_positions * along @ E
    mean = law.mean_Gamma if scenario.structure.joint else law.mean_gamma
    level = mean[..., None, None] * along_positions**2
    q = level * (E.T @ E + NOISE * np.eye(scenario.student.rank))
    return q, m, np.zeros((*mean.shape, *scenario.ranks))


def _uninformed(scenario: Scenario):
    level = _level(scenario.law.joint_rho)
    q = 0.3 * level * np.eye(scenario.student.rank)
    return (
        q,
        np.zeros((scenario.length, scenario.student.rank)),
        np.zeros((*level.shape[:-2], *scenario.ranks)),
    )


def _level(rho: np.ndarray) -> np.ndarray:
    return (np.trace(rho, axis1=-2, axis2=-1) / rho.shape[-1])[..., None, None]


def both_mechanisms(scenario: Scenario) -> Overlaps:
    """For a student of rank two or more: the semantic start, with the positional one's first column
    as its second."""
    semantic, positional = start(scenario, "semantic"), start(scenario, "positional")
    q, m = semantic.q.copy(), np.zeros_like(positional.m)
    q[..., 1, 1], m[:, 1] = positional.q[..., 0, 0], positional.m[:, 0]
    return semantic._replace(q=q, m=m)
