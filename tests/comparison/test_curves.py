"""Learning curves against gradient descent at finite d, and equations with a missing term."""

import numpy as np
import pytest

import dotphase
from dotphase import Tokens, paper
from dotphase.comparison.curves import compare_curve
from dotphase.learning import Start
from dotphase.learning.full_batch.descent import Descent
from dotphase.learning.full_batch.modes import Modes

OPTIONS = {"d": 800, "seeds": 8, "steps": 100, "step_size": 1.0, "paths": 1024}
GROUPS = Tokens([[0.15, 0.3], [0.6, 0.2]], [0.7, 0.3])


@pytest.mark.parametrize("start", ["semantic", "positional", "random", Start(0.5, 0.2, 0.3)])
def test_training_follows_the_curve(start):
    found = compare_curve(paper(alpha=1, omega=0.3), start, **OPTIONS)
    assert max(found.worst.values()) < 4.5
    # The errors are small against the way that the weights have gone.
    way = np.abs(np.diff(found.theory["train_loss"].value[[0, -1]]))
    assert way > 10 * found.gaps["train_loss"].error[-1]


def test_training_follows_the_curve_with_two_groups_of_directions_and_rank_two():
    scenario = paper(alpha=1.2, omega=0.3, student_rank=2).vary(tokens=GROUPS)
    found = compare_curve(scenario, Start(0.5, 0.2, 0.3), **{**OPTIONS, "steps": 60})
    assert max(found.worst.values()) < 4.5


@pytest.mark.parametrize("term", ["memory", "response"])
def test_without_a_term_training_does_not_follow(term, monkeypatch):
    if term == "memory":
        monkeypatch.setattr(Modes, "add", _add_without_memory)
    else:
        monkeypatch.setattr(Modes, "forces", _forces_without_response)
    found = compare_curve(paper(alpha=1, omega=0.3), "positional", **OPTIONS)
    assert found.worst["q"] > 7
    assert found.worst["test_error"] > 7


def test_the_comparison_is_kept_and_shown(tmp_path):
    found = compare_curve(paper(alpha=1), "semantic", d=60, seeds=2, steps=4, paths=64)
    found.save(tmp_path / "compared.dotphase")
    assert dotphase.load(tmp_path / "compared.dotphase") == found
    assert len(found.rows()) == 4 * 5 + 1
    assert found.rows()[-1]["observable"] == "test_error"
    assert len(found.plot().axes) == 3


def test_training_that_diverges_is_refused():
    scenario = paper(alpha=2, sigma=2.0).vary(student=dotphase.attentions.linear(1))
    with pytest.raises(ValueError, match="diverged"):
        compare_curve(scenario, "semantic", d=60, seeds=2, steps=20, step_size=50.0, paths=64)


_add, _forces = Modes.add, Modes.forces


def _add_without_memory(self, k, amplitude, push=None):
    xi = _add(self, k, amplitude, push)
    if push is not None:
        self.fields[:, -1] = self.deviations[k] * np.sqrt(self.distribution.weight[k]) * xi
    return xi


def _forces_without_response(self, g, alpha):
    """Modes made by forces feel the forces along their pushes, but not E[g ξ]."""
    force = _forces(self, g, alpha)
    pushed = self.pushes[0].shape[1]
    if pushed:
        along = self.deviations[0] * g @ self.pushes[0].swapaxes(1, 2)
        force[..., -pushed:] = alpha / self.noise.shape[-1] * along
    return force


def test_one_seed_has_no_error_bar_to_compare_by():
    with pytest.raises(ValueError, match=r"^seeds: at least two are needed"):
        compare_curve(paper(alpha=1), "semantic", d=60, seeds=1, steps=4, paths=64)


def test_a_curve_that_ends_before_training_does_is_named(monkeypatch):
    run = Descent.run

    def stopped(self, schedule, *args):
        history = run(self, schedule, *args)
        overlaps = type(history.overlaps)(*(part[:2] for part in history.overlaps))
        parts = {"loss": history.loss[:2], "ridge": history.ridge[:2], "blown_up": True}
        return history._replace(overlaps=overlaps, **parts)

    monkeypatch.setattr(Descent, "run", stopped)
    with pytest.raises(ValueError, match=r"^step_size: the learning curve ended early"):
        compare_curve(paper(alpha=1), "semantic", d=60, seeds=2, steps=4, paths=64)
