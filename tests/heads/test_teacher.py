"""A head as the teacher of a scenario: exact where the head is of that form, refused where it cannot be."""

from pathlib import Path

import numpy as np
import pytest

from dotphase import solve, train
from dotphase.heads import load, read_ids, scenario_of, shipped
from dotphase.heads.teacher import _mean_form

WORDS, WIDTH, LENGTH = 400, 12, 5


def head_of(tmp_path: Path, rank: int = 1, positions: float = 0.0, causal: int = 1):
    """A head with scores of the given rank, and places that are seen by part of them."""
    rng = np.random.default_rng(3)
    E = rng.standard_normal((WORDS, WIDTH))
    E -= E.mean(0)
    W_Q, W_K = (rng.standard_normal((WIDTH, rank)) for _ in range(2))
    P = positions * rng.standard_normal((LENGTH, WIDTH))
    file = tmp_path / "head.npz"
    np.savez(file, E=E, P=P, W_Q=W_Q, W_K=W_K, causal=np.array(causal))
    ids = rng.permutation(np.repeat(np.arange(WORDS), 100)).reshape(-1, LENGTH)
    return load(file), ids


@pytest.mark.parametrize("causal", [0, 1])
def test_a_head_without_places_is_the_teacher(tmp_path, causal):
    """Every word as often as any other, scores of rank one: the attention on the sentences is that of
    the head, which the same scores with query and key exchanged do not have."""
    head, ids = head_of(tmp_path, causal=causal)
    found = scenario_of(head, ids[:3000], length=3)
    # the words' mean and the position's share are not exactly zero in 3000 sentences
    assert found.omega < 0.02
    assert found.neglected["rank"] < 1e-10
    assert found.neglected["input"] < 1e-20
    assert found.neglected["attention"] < 0.1 * found.neglected["attention_scale"]
    scenario, x = found.scenario, found.sentences.tokens(slice(None))
    h = x @ np.asarray(scenario._pi) / WIDTH**0.5
    scores = np.einsum("ln,mn->nlm", h[..., 0], h[..., 1])
    allowed = np.tri(3, k=-1, dtype=bool) if causal else ~np.eye(3, dtype=bool)
    own = head(ids[:3000, :3])[:, 0]
    fit = np.corrcoef(scores[:, allowed].ravel(), own[:, allowed].ravel())[0, 1]
    exchanged = np.corrcoef(np.swapaxes(scores, 1, 2)[:, allowed].ravel(), own[:, allowed].ravel())
    assert fit > 0.99
    assert exchanged[0, 1] < 0.9


def test_a_rank_that_is_too_low_loses_part_of_the_scores(tmp_path):
    head, ids = head_of(tmp_path, rank=3)
    low, enough = (scenario_of(head, ids[:3000], rank=rank) for rank in (1, 3))
    assert 0.1 < low.neglected["rank"] < 0.7
    assert enough.neglected["rank"] < 1e-10
    assert enough.neglected["attention"] < low.neglected["attention"]


def test_omega_is_the_share_of_position(tmp_path):
    head, ids = head_of(tmp_path, positions=3.0)
    found = scenario_of(head, ids[:3000])
    position, content = found.heads.position.value[0], found.heads.content.value[0]
    assert position > 0.2
    assert found.omega == pytest.approx(position / (position + max(content, 0)))
    gram = found.scenario.distribution.gram
    places = head.positions[:3] - head.positions[:3].mean(0)
    ratio = gram / (places @ places.T)
    np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-6)  # in units of the words' deviation


@pytest.mark.slow
def test_the_shipped_head_as_teacher_agrees_with_trained_students():
    """Theory to first order in 1/d, both starts, against students trained at d = 512."""
    model = shipped()
    scenario = scenario_of(model.only(2), read_ids(model)).scenario
    theory = solve(scenario, start="semantic", d=512, rtol=1e-2)
    trained = train(scenario, d=512, start="semantic", seeds=6)
    away = trained.test_error - theory.test_error
    assert abs(away.value) < 4 * away.error
    wrong = trained.test_error - solve(scenario, start="semantic", rtol=1e-2).test_error  # d → ∞
    assert abs(wrong.value) > 10 * wrong.error


def test_a_rotary_form_is_the_mean_over_places():
    from dotphase.heads.layouts import Projections, Rotary, scores_of

    rng = np.random.default_rng(0)
    W_Q, W_K = rng.standard_normal((2, 1, 6, 4))
    layer = Projections(W_Q, W_K, 0.0, 0.0, 0.5, rotary=Rotary(4, 100.0))
    u = rng.standard_normal((2, 6))
    i, j = np.tril_indices(4, -1)
    at = np.array([scores_of(layer, np.where(np.arange(4)[:, None] == a, u[0], u[1])[None])[0, 0, a, b]
                   for a, b in zip(i, j, strict=True)])  # fmt: skip
    assert u[0] @ _mean_form(layer, 4) @ u[1] == pytest.approx(at.mean(), rel=1e-10)
    assert np.ptp(at) > 0.1


def test_what_cannot_be_a_teacher_is_refused(tmp_path):
    model = shipped()
    ids = read_ids(model)
    with pytest.raises(ValueError, match="head: expected one head, got 4"):
        scenario_of(model, ids)
    with pytest.raises(ValueError, match="rank"):
        scenario_of(model.only(0), ids, rank=65)
    with pytest.raises(ValueError, match="length"):
        scenario_of(model.only(0), ids, length=0)
