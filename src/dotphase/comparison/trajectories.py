"""Message passing compared with state evolution, from the same start, iteration by iteration."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..finite.checks import as_seeds
from ..finite.data.instance import Instance
from ..finite.data.sampling import sample
from ..finite.message_passing.gamp import Gamp
from ..finite.overlaps import overlaps as finite_overlaps
from ..finite.training.objective import Objective
from ..learning.online.decomposition import Decomposition, overlaps_of, signals_at
from ..numerics.rules import Rule
from ..overlaps.overlaps import Overlaps
from ..results.estimate import Estimate
from ..results.result import Result
from ..results.statistics import over_seeds
from ..scenario.arguments import checked
from ..scenario.scenario import Scenario
from ..theory.state_evolution.iteration import iterate

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure


@checked
@dataclass(frozen=True)
class NoisyStart:
    """Weights Q = a Q*E + √d p_1 b + N(0, c²): a share of the teacher, a share of the first
    encoding, and noise.

    **Arguments**: `semantic` a; `positional` b, (r_s,) or a number; `noise` c; `response` V, the
    same for all tokens.
    """

    semantic: float = 0.5
    positional: float = 0.2
    noise: float = 0.5
    response: float = 1.0

    def weights(self, instance: Instance) -> np.ndarray:
        """The weights of one instance, (d, r_s)."""
        d, shares = instance.dimension, self._shares(instance.scenario)
        noise = instance.random("start").standard_normal((d, len(shares)))
        return signals_at(instance) @ shares.T + self.noise * noise

    def overlaps(self, scenario: Scenario) -> Overlaps:
        """Overlaps of those weights as d → ∞ (teacher's weights of unit normals: ⟨π⟩ = 0, ⟨ππᵀ⟩ =
        I)."""
        if scenario.teacher_weights is not None:
            raise ValueError(
                "teacher_weights: state evolution from a noisy start is for teachers of random weights"
            )
        shares, groups = self._shares(scenario), len(scenario.distribution.weight)
        unit = np.eye(len(shares))
        parts = (np.repeat(part[None], groups, axis=0) for part in (shares, self.noise**2 * unit))
        q, m, theta = overlaps_of(Decomposition(*parts), scenario.distribution)
        return Overlaps(q, np.array(np.broadcast_to(self.response * unit, q.shape)), m, theta)

    def _shares(self, scenario: Scenario) -> np.ndarray:
        """Of the encodings and of the teacher, (r_s, L + r_t): all columns have the first encoding."""
        spread, (r_s, r_t) = np.asarray(scenario.student.spread), scenario.ranks
        shares, kept = np.zeros((r_s, scenario.length + r_t)), min(len(spread), r_t)
        shares[:, 0] = self.positional
        shares[:, scenario.length : scenario.length + kept] = self.semantic * spread[:kept].T
        return shares


@checked
def message_passing(
    scenario: Scenario, d: int, start: NoisyStart, steps: int, seed: int
) -> list[Overlaps]:
    """The undamped iterates of message passing on one sample, as overlaps, the start first."""
    instance = Instance(scenario, d, seed)
    method = Gamp(Objective(sample(instance)))
    state = method.first(start.weights(instance), start.response)
    iterates = []
    for step in range(steps + 1):
        found = finite_overlaps(instance, state.weights)
        iterates.append(Overlaps(found.q, state.response, found.m, found.theta))
        if step < steps:
            state, _ = method.step(state)
    return iterates


@dataclass(frozen=True, repr=False, eq=False)
class Trajectories(Result):
    """Iterates of the theory, and of message passing over seeds: per iterate, the four overlaps
    flattened, (k, F).

    - `labels`: which overlap each of the F columns is.
    - `theory`: (k, F);  `passed`: (seeds, k, F).
    """

    dimension: int
    labels: tuple[str, ...]
    theory: np.ndarray
    passed: np.ndarray

    row = "iterate"

    @property
    def headline(self) -> str:
        return (
            f"{len(self.theory) - 1} iterations of theory and message passing, d = {self.dimension}"
        )

    def rows(self) -> list[dict[str, Any]]:
        """Per iterate and overlap: the theory, and the average over seeds."""
        mean = self.mean
        return [
            {"iterate": k, "overlap": label, "theory": self.theory[k, f], "gamp": mean[k, f]}
            for k in range(len(self.theory))
            for f, label in enumerate(self.labels)
        ]

    def to_xarray(self) -> xarray.Dataset:
        import xarray

        axes = ("iterate", "overlap")
        variables = {"theory": (axes, self.theory), "gamp": (("seed", *axes), self.passed)}
        return xarray.Dataset(
            variables, {"overlap": list(self.labels)}, {"description": self.headline}
        )

    def plot(self) -> Figure:
        """Every overlap against iterations: state evolution and message passing."""
        from .plots import trajectories_figure

        return trajectories_figure(self, self.labels[:6], self.headline)

    @property
    def mean(self) -> Estimate:
        return over_seeds(list(self.passed))

    @property
    def deviations(self) -> np.ndarray:
        """(mean over seeds − theory) in standard errors of the mean, (k, F); zero where neither
        moves. At least two seeds are needed."""
        if len(self.passed) < 2:
            raise ValueError("seeds: at least two are needed for an error bar, got one")
        mean = self.mean
        gap = mean.value - self.theory
        return np.where(np.abs(gap) > 1e-12, gap / np.maximum(mean.error, 1e-300), 0.0)


@checked
def follow(
    scenario: Scenario,
    d: int,
    seeds: int | Iterable[int],
    start: NoisyStart,
    steps: int = 3,
    rule: Rule | None = None,
) -> Trajectories:
    """Both algorithms from the same noisy start: `steps` undamped iterations each.

    **Arguments**: `scenario`; `d` and `seeds` of message passing; `rule` of the theory's Gaussian
    average.
    """
    if scenario.tokens.joint:
        raise ValueError(
            "tokens: iterate by iterate the two are compared for tokens that are not correlated"
        )
    theory = [_flat(o) for o in iterate(scenario, start.overlaps(scenario), steps, rule)]
    passed = [
        [_flat(o) for o in message_passing(scenario, d, start, steps, seed)]
        for seed in as_seeds(seeds)
    ]
    return Trajectories(d, _labels(scenario), np.array(theory), np.array(passed))


def _flat(overlaps: Overlaps) -> np.ndarray:
    rows, columns = np.tril_indices(overlaps.q.shape[1])
    parts = (overlaps.q[:, rows, columns], overlaps.V[:, rows, columns], overlaps.m, overlaps.theta)
    return np.concatenate([np.ravel(part) for part in parts])


def _labels(scenario: Scenario) -> tuple[str, ...]:
    length, (r_s, r_t) = scenario.length, scenario.ranks
    rows, columns = np.tril_indices(r_s)
    square = [f"{a + 1}{b + 1}" if r_s > 1 else "" for a, b in zip(rows, columns, strict=True)]
    sizes = {"q": square, "V": square, "m": [f"{a + 1}" if r_s > 1 else "" for a in range(r_s)]}
    sizes["θ"] = [
        f"{a + 1}{t + 1}" if r_s * r_t > 1 else "" for a in range(r_s) for t in range(r_t)
    ]
    return tuple(
        f"{name}_{l + 1}{('^' + i) if i else ''}"
        for name, inner in sizes.items()
        for l in range(length)
        for i in inner
    )
