"""The equations of one-pass learning against single steps on fresh sentences, for every kind of
scenario.

At given weights the average change in one step is exact at finite d up to 1/d, so equations and
average must agree in standard errors; a term left out must not.
"""

import jax
import numpy as np
import pytest

from dotphase import attentions
from dotphase.finite.data.instance import Instance
from dotphase.finite.overlaps import overlaps
from dotphase.inner.loss import mismatch
from dotphase.learning.online.decomposition import Decomposition, Start, measured, overlaps_of
from dotphase.learning.online.equations import Equations, Step
from dotphase.numerics.rules import GaussHermite, Sobol
from dotphase.scenario.attentions.attention import lifted, matrices
from dotphase.scenario.presets import paper
from dotphase.scenario.scenario import Scenario
from dotphase.scenario.tokens import Positions, Tokens

STEP = Step(rate=25.0, ridge=0.02)
NAMES = ("q", "m", "theta")


def uneven(rank: int, tied: bool) -> Scenario:
    """Two tokens of two spectra, two groups of directions, encodings that are neither opposite nor
    parallel."""
    return Scenario(
        teacher=attentions.mixture([[0.5, 0.5], [0.2, 0.8]], 0.3),
        student=attentions.softmax(rank, tied=tied),
        tokens=Tokens([[0.25, 0.4], [0.9, 0.3]], [0.6, 0.4]),
        positions=Positions([[1.0, -0.5], [-0.4, 1.2]]),
        sample_ratio=1.5,
        ridge=0.05,
    )


CASES = {
    "paper": (paper(omega=0.3), Start(0.6, 0.4, 0.5)),
    "two kinds, rank two": (uneven(2, True), Start(0.6, 0.4, 0.6)),
    "two kinds, untied": (uneven(1, False), Start(0.6, 0.4, 0.6)),
}


def slopes(scenario, z, T):
    """∂ℓ/∂z_l for every sample, (L, r_s, n), with the limit's loss."""
    S = lifted(scenario.student.form)
    loss = lambda z: mismatch(
        S(z, **scenario.student.values), T, scenario.distribution.mean_gamma
    ).sum()
    with jax.enable_x64(True):
        return np.asarray(jax.jit(jax.grad(loss))(z))


def one_step(instance, weights, count, blocks=8):
    """d · (change of every overlap in one step), mean ± error over fresh sentences, flattened."""
    d, rng = instance.dimension, np.random.default_rng(3)
    before, rows = overlaps(instance, weights), []
    for _ in range(blocks):
        x = rng.standard_normal((count // blocks, *instance.gamma.shape)) * np.sqrt(instance.gamma)
        seen = x + instance.positions
        fields = lambda tokens, Q: np.moveaxis(tokens @ Q, 0, -1) / np.sqrt(d)
        T = matrices(instance.scenario.teacher, fields(x, instance.teacher_weights))
        slope = slopes(instance.scenario, fields(seen, weights), T)
        moved = -STEP.rate * (
            np.einsum("nld,lan->nda", seen, slope) / np.sqrt(d) + STEP.ridge * weights / d
        )
        for delta in moved:
            after = overlaps(instance, weights + delta)
            rows.append(
                np.concatenate([d * np.ravel(a - b) for a, b in zip(after, before, strict=True)])
            )
    values = np.array(rows)
    return values.mean(0), values.std(0) / np.sqrt(len(values))


def overlap_velocity(decomposition: Decomposition, velocity: Decomposition, distribution):
    """The rate of change of q, m, θ when the decomposition changes at `velocity`, flattened: central
    differences are exact."""
    h = 1e-3
    ahead, behind = (
        Decomposition(*(p + s * v for p, v in zip(decomposition, velocity, strict=True)))
        for s in (h, -h)
    )
    pairs = zip(overlaps_of(ahead, distribution), overlaps_of(behind, distribution), strict=True)
    return np.concatenate([np.ravel(a - b) / (2 * h) for a, b in pairs])


@pytest.fixture(scope="module", params=CASES)
def case(request):
    scenario, start = CASES[request.param]
    instance = Instance(scenario, 240, 1)
    weights = start.weights(instance)
    decomposition, distribution = measured(instance, weights)
    dimension = scenario.length * sum(scenario.ranks)
    equations = Equations(
        scenario, GaussHermite(8) if dimension == 4 else Sobol(2**13), distribution
    )
    velocity = Decomposition(
        *(part.mean(0) for part in equations.velocity(equations.repeated(decomposition), STEP))
    )
    if dimension == 4:
        velocity = Decomposition(
            *(p[0] for p in equations.velocity(equations.repeated(decomposition), STEP))
        )
    return equations, decomposition, velocity, one_step(instance, weights, 4000)


def deviations(case, velocity):
    equations, decomposition, _, (mean, error) = case
    return np.abs(
        (mean - overlap_velocity(decomposition, velocity, equations.distribution)) / error
    )


def test_the_average_step_is_the_equations(case):
    assert deviations(case, case[2]).max() < 4


def test_without_the_scatter_of_single_samples_it_is_not(case):
    equations, decomposition, _, _ = case
    wrong = equations.velocity(equations.repeated(decomposition), STEP._replace(scatter=0.0))
    assert deviations(case, Decomposition(*(part[0] for part in wrong))).max() > 7


def test_without_the_overlap_of_samples_and_encodings_it_is_not():
    """ζ: the encodings' columns of D F, here left out. Strong encodings make it visible."""
    scenario = paper(omega=0.3).vary(positions=Positions([[2.0, -2.0]]))
    instance = Instance(scenario, 240, 1)
    weights = Start(0.3, 0.5, 0.3).weights(instance)
    decomposition, distribution = measured(instance, weights)
    equations = Equations(scenario, GaussHermite(8), distribution)
    right = Decomposition(
        *(part[0] for part in equations.velocity(equations.repeated(decomposition), STEP))
    )
    curvature = equations.averages(equations.repeated(decomposition)).curvature[0]
    D = np.einsum("kl,lab->kab", distribution.gamma, curvature)
    shares = right.shares.copy()
    shares[..., : scenario.length] += STEP.rate * (D @ decomposition.shares)[..., : scenario.length]
    case = equations, decomposition, right, one_step(instance, weights, 4000)
    assert deviations(case, right).max() < 4
    assert deviations(case, Decomposition(shares, right.noise)).max() > 7


def test_weights_are_what_they_were_made_of():
    for scenario, start in CASES.values():
        instance = Instance(scenario, 300, 2)
        weights = start.weights(instance)
        decomposition, distribution = measured(instance, weights)
        for ours, theirs in zip(
            overlaps_of(decomposition, distribution), overlaps(instance, weights), strict=True
        ):
            np.testing.assert_allclose(ours, theirs, atol=1e-12)
