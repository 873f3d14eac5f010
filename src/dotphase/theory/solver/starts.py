"""Where to start: named points in the space of overlaps, each in the basin of one mechanism.

A start is what weights Q of that kind would have: `semantic`, Q = Q* spread over the student's
columns; `positional`, Q along the positional encodings; `mixed`, both, in different columns if there
are several; `uninformed`, Q random. Each has a little noise, so that no overlap is degenerate.
"""

from __future__ import annotations

import numpy as np

from ...overlaps.coordinates import SMALLEST
from ...overlaps.correlated import is_joint, single
from ...overlaps.overlaps import Overlaps
from ...scenario.scenario import Scenario

NAMES = ("semantic", "positional", "mixed", "uninformed")
INSTEAD = {
    "random": 'random weights are called "uninformed" in the theory; "random" is a start of training'
}
NOISE = 0.1  # variance of the noise, in units of the signal's


def usual_starts(scenario: Scenario) -> tuple[str, ...]:
    """The starts of the mechanisms that may win: `mixed` only where columns can share the work, and
    without encodings `semantic` alone."""
    if not np.any(scenario.distribution.gram):
        return NAMES[:1]
    return NAMES[:2] if len(np.asarray(scenario.student.spread)) == 1 else NAMES[:3]


def start(scenario: Scenario, name: str) -> Overlaps:
    """The overlaps of a named start."""
    make = {
        "semantic": _semantic,
        "positional": _positional,
        "mixed": _mixed,
        "uninformed": _uninformed,
    }
    if name in INSTEAD:
        raise ValueError(f"start: {INSTEAD[name]}")
    if name not in make:
        raise ValueError(f"start: expected one of {', '.join(NAMES)}, or overlaps; got {name!r}")
    return _with_response(scenario, *make[name](scenario))


def random_start(scenario: Scenario, seed: int) -> Overlaps:
    """Random overlaps, of the size that the named starts have: every column has a share of every
    signal."""
    rng, rho = np.random.default_rng(seed), scenario.distribution.joint_rho
    r_s, r_t = scenario.ranks
    E = rng.standard_normal((r_t, r_s)) / np.sqrt(r_s)
    q = np.einsum("ta,...tu,ub->...ab", E, rho, E) + 0.3 * _level(rho) * np.eye(r_s)
    theta = np.einsum("ta,...tu->...au", E, rho)
    m = np.zeros((scenario.length, r_s))
    if np.any(scenario.distribution.gram):
        along = _principal(scenario)
        m = 0.3 * along @ rng.standard_normal((along.shape[1], r_s)) / np.sqrt(r_s)
    return _with_response(scenario, q, m, theta)


def _with_response(scenario: Scenario, q, m, theta) -> Overlaps:
    mean = scenario.distribution.mean_gamma
    # A response between the one of no data, γ/λ, and the one of many.
    curvature = scenario.ridge + 0.1 * scenario.sample_ratio * mean
    level = mean / curvature
    if scenario.structure.joint:
        level = scenario.distribution.mean_Gamma / np.sqrt(np.outer(curvature, curvature))
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
    Gamma = scenario.distribution.mean_Gamma
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
    return _along_teacher(scenario, np.asarray(scenario.student.spread))


def _positional(scenario: Scenario):
    return _along_encodings(scenario, np.asarray(scenario.student.spread))


def _mixed(scenario: Scenario):
    """Half of each signal; where columns can share the work, the last is positional, the others
    semantic."""
    spread = np.asarray(scenario.student.spread)
    alone = len(spread) == 1
    q, _, theta = _along_teacher(scenario, spread if alone else spread[:-1])
    other, m, _ = _along_encodings(scenario, spread[-1:])
    if alone:
        return (q + other) / 2, m / np.sqrt(2), theta / 2
    used = (np.abs(spread[-1]) > 0).astype(float)
    return q * np.outer(1 - used, 1 - used) + other * np.outer(used, used), m, theta


def _along_teacher(scenario: Scenario, spread: np.ndarray):
    """q, m, θ of Q = Q* spread over columns, with some noise."""
    rho, r_s, r_t = scenario.distribution.joint_rho, scenario.student.rank, scenario.teacher.rank
    columns = min(len(spread), r_t)
    E = np.vstack([spread[:columns], np.zeros((r_t - columns, r_s))])
    q = np.einsum("ta,...tu,ub->...ab", E, rho, E) + NOISE * _level(rho) * np.eye(r_s)
    return q, np.zeros((scenario.length, r_s)), np.einsum("ta,...tu->...au", E, rho)


def _along_encodings(scenario: Scenario, spread: np.ndarray):
    """q, m, θ of Q along the encodings, spread over columns, with some noise."""
    along_positions = 0.3  # size of positional weights: fields of this order
    distribution, along = scenario.distribution, _principal(scenario)[:, : len(spread)]
    E = spread[: along.shape[1]]
    mean = distribution.mean_Gamma if scenario.structure.joint else distribution.mean_gamma
    level = mean[..., None, None] * along_positions**2
    q = level * (E.T @ E + NOISE * np.eye(scenario.student.rank))
    return q, along_positions * along @ E, np.zeros((*mean.shape, *scenario.ranks))


def _principal(scenario: Scenario) -> np.ndarray:
    """p_l · ê_k, ê_k the principal directions of the encodings, the strongest first, (L, K)."""
    values, vectors = np.linalg.eigh(scenario.distribution.gram)
    kept = [k for k in np.argsort(values)[::-1] if values[k] > 1e-9 * max(values.max(), 1e-300)]
    if not kept or values.max() <= 0:
        raise ValueError(
            "start: there is no positional start, since all positional encodings are zero"
        )
    along = np.sqrt(values[kept]) * vectors[:, kept]
    return along * np.where(along[np.abs(along).argmax(0), range(len(kept))] < 0, -1, 1)


def _uninformed(scenario: Scenario):
    level = _level(scenario.distribution.joint_rho)
    q = 0.3 * level * np.eye(scenario.student.rank)
    return (
        q,
        np.zeros((scenario.length, scenario.student.rank)),
        np.zeros((*level.shape[:-2], *scenario.ranks)),
    )


def _level(rho: np.ndarray) -> np.ndarray:
    return (np.trace(rho, axis1=-2, axis2=-1) / rho.shape[-1])[..., None, None]
