"""Whatever the scenario, a solve ends with a fixed point, and never with an exception."""

import numpy as np
import pytest

import dotphase
from dotphase.scenario.arbitrary import arbitrary_scenario
from dotphase.theory.checks import memory_needed


def check(solution):
    assert solution.outcome in ("converged", "collapsed"), solution.reason
    assert solution.residual < 1e-8
    numbers = (*solution.overlaps, solution.test_error.value, solution.train_loss.value, solution.test_error.error)
    assert all(np.isfinite(part).all() for part in numbers)
    assert np.linalg.eigvalsh(solution.overlaps.V).min() > 0


def spread_positions(alpha, start):
    A = np.full((4, 4), 0.4 / 3) + (0.6 - 0.4 / 3) * np.eye(4)
    tokens, positions = dotphase.isotropic(4, 0.5), dotphase.Positions([np.linspace(1, -1, 4)])
    student = dotphase.softmax_attention(2)
    return dotphase.Scenario(dotphase.mixture(A, 0.3), student, tokens, positions, alpha, 0.01), start


@pytest.mark.parametrize(("alpha", "start"), [(0.5, "positional"), (2.0, "semantic"), (6.0, "semantic")])
def test_fields_too_narrow_for_their_minima_are_widened(alpha, start):
    """Here the map is not defined at the start itself, whatever its response."""
    solution = dotphase.solve(*spread_positions(alpha, start), rtol=None)
    check(solution)
    assert solution.outcome == "converged"


@pytest.mark.parametrize("seed", [1, 2, 5])
def test_arbitrary_scenarios_have_fixed_points(seed):
    check(dotphase.solve(arbitrary_scenario(seed), ("semantic", "positional")[seed % 2], rtol=None))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 160))
def test_many_arbitrary_scenarios_have_fixed_points(seed):
    check(dotphase.solve(arbitrary_scenario(seed), ("semantic", "positional")[seed % 2], rtol=None))


def test_what_cannot_fit_is_refused_at_once(monkeypatch):
    import psutil

    scenario, rule = dotphase.paper(), dotphase.Sobol(2**13)
    assert memory_needed(scenario, rule) < memory_needed(scenario, dotphase.Sobol(2**20)) < 2e9
    monkeypatch.setattr(psutil, "virtual_memory", lambda: type("Memory", (), {"available": 10**8}))
    with pytest.raises(ValueError, match=r"rule: these nodes of 2 tokens and rank 1 take 0\.\d+ GB of memory, 0\.1 GB"):
        dotphase.solve(scenario, rule=rule)
