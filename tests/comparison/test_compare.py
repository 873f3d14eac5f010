import json

import numpy as np
import pytest

from dotphase.comparison.compare import compare
from dotphase.comparison.plots import draw_clusters, draw_comparison, draw_sizes, draw_trajectories
from dotphase.comparison.trajectories import NoisyStart, follow
from dotphase.finite.data.instance import Instance
from dotphase.finite.overlaps import overlaps
from dotphase.numerics.rules import Sobol
from dotphase.results.estimate import Estimate
from dotphase.scenario.presets import paper


@pytest.fixture(scope="module")
def comparison():
    return compare(paper(alpha=2.0), 100, 5)


def test_every_observable_of_every_start_has_all_three_answers(comparison):
    assert len(comparison.entries) == 10
    for entry in comparison.entries:
        assert entry.theory is not None
        assert entry.passed.count == entry.trained.count == 5
    exact_zero = {(e.start, e.observable) for e in comparison.entries if e.theory.value == 0}
    assert exact_zero == {("semantic", "m"), ("positional", "theta")}


def test_deviations_are_in_standard_errors():
    from dotphase.comparison.compare import Entry

    entry = Entry(
        "semantic", "q", Estimate(1.0, 0.3), Estimate(1.5, 0.4, 8), Estimate(2.0, np.inf, 1)
    )
    assert entry.deviation(entry.passed) == pytest.approx(1.0)
    assert entry.deviation(entry.trained) is None


def test_it_is_printed_and_kept_as_plain_data(comparison):
    text = str(comparison)
    assert "theory" in text
    assert "message passing" in text
    plain = json.loads(json.dumps(comparison.to_dict(), allow_nan=False))
    assert plain["entries"][0]["training"]["deviation"] is not None
    assert plain["outcome"]["semantic"]["theory"] == "converged"


def test_pictures_are_drawn(comparison, tmp_path):
    draw_comparison(comparison, tmp_path / "a.png")
    sizes = {100: {"q": (0.1, 0.01)}, 200: {"q": (0.11, 0.01)}}
    draw_sizes(sizes, {"q": (0.115, 0.001)}, tmp_path / "b.png", "semantic", "sizes")
    m, theta = np.array([0.2, 0.0, 0.25]), np.array([0.0, 0.15, 0.02])
    draw_clusters(m, theta, np.ones(3), tmp_path / "c.png", "clusters")
    followed = follow(paper(), 60, 3, NoisyStart(), 1, Sobol(2**10))
    draw_trajectories(followed, ["q_1", "θ_1"], tmp_path / "d.png", "trajectories")
    for name in "abcd":
        assert (tmp_path / f"{name}.png").stat().st_size > 5000


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"starts": ["uninformed"]}, "starts: expected some of semantic, positional"),
        ({"seeds": [1, 1]}, "given once"),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments, says):
    with pytest.raises(ValueError, match=says):
        compare(paper(), 40, **arguments)


def test_progress_counts_every_solve_and_seed():
    seen = []
    compare(paper(), 40, 2, ["semantic"], progress=lambda done, total: seen.append((done, total)))
    assert seen == [(k, 5) for k in range(1, 6)]


def test_a_noisy_start_has_the_overlaps_it_says():
    start = NoisyStart(0.6, 0.2, 0.5, 1.0)
    d, found = 40_000, []
    instance = Instance(paper(alpha=0.001), d, 0)
    found = overlaps(instance, start.weights(instance))
    limit = start.overlaps(paper())
    for name in ("q", "m", "theta"):
        assert np.abs(getattr(found, name) - getattr(limit, name)).max() < 5 / np.sqrt(d)


def test_a_start_with_given_teacher_weights_is_refused():
    scenario = paper().vary(teacher_weights=[[1.0], [-1.0]])
    with pytest.raises(ValueError, match="teacher_weights"):
        NoisyStart().overlaps(scenario)
