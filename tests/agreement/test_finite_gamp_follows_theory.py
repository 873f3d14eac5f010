"""Message passing against state evolution, iterate by iterate, undamped, from the same noisy
informed start."""

import numpy as np
import pytest

from dotphase import attentions
from dotphase.comparison.trajectories import NoisyStart, follow
from dotphase.finite.message_passing.gamp import Gamp
from dotphase.numerics.rules import Sobol
from dotphase.scenario.presets import paper
from dotphase.scenario.scenario import Scenario
from dotphase.scenario.tokens import Positions, Tokens

THREE = np.array([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.3, 0.4]])


def uneven(rank=2):
    """L = 3 tokens with three spectra, a student of rank two."""
    return Scenario(
        teacher=attentions.mixture(THREE, 0.3),
        student=attentions.softmax(rank),
        tokens=Tokens([[0.25, 0.4, 0.3], [0.5, 0.2, 0.6]], [0.7, 0.3]),
        positions=Positions([[1.0, -0.5, 0.3], [-0.4, 1.2, 0.6]]),
        sample_ratio=2.0,
        ridge=0.05,
    )


def worst(followed):
    """The largest deviation from the theory, in standard errors over seeds."""
    return np.abs(followed.deviations).max()


CASES = [
    pytest.param(paper(), NoisyStart(0.6, 0.05, 0.4, 2.0), 2, id="two tokens"),
    pytest.param(
        uneven(),
        NoisyStart(0.6, 0.1, 0.4, 1.0),
        2,
        id="three tokens, rank two",
        marks=pytest.mark.slow,
    ),
]


@pytest.mark.parametrize(("scenario", "start", "steps"), CASES)
def test_the_first_iterations_follow_state_evolution_and_need_the_onsager_term(
    scenario, start, steps, monkeypatch
):
    followed = follow(scenario, 400, range(100, 124), start, steps, Sobol(2**13))
    assert np.isfinite(followed.passed).all()
    # 24 seeds: Student's t with 23 degrees of freedom, a few dozen correlated numbers.
    assert worst(followed) < 5, followed.deviations

    step = Gamp.step
    forgetful = lambda self, state, *rest: step(
        self, state._replace(slopes=0 * state.slopes), *rest
    )
    monkeypatch.setattr(Gamp, "step", forgetful)
    astray = follow(scenario, 400, range(100, 124), start, steps, Sobol(2**13))
    assert worst(astray) > 10, astray.deviations


@pytest.mark.slow
@pytest.mark.parametrize(("scenario", "start", "_steps"), CASES)
def test_the_scatter_shrinks_like_one_over_root_d(scenario, start, _steps):
    spread = []
    for d in (250, 1000):
        followed = follow(scenario, d, 16, start, 1, Sobol(2**13))
        assert worst(followed) < 5
        spread.append(followed.passed[:, 1].std(0, ddof=1))
    ratio = np.median(spread[0] / spread[1])
    assert 1.4 < ratio < 2.8


def test_one_seed_does_not_tell_how_far_the_two_are_apart():
    followed = follow(paper(), 60, 1, NoisyStart(), 1, Sobol(2**10))
    assert followed.passed.shape[0] == 1
    with pytest.raises(ValueError, match="at least two are needed"):
        _ = followed.deviations
