"""The kinds of computation that figures brought: against the library called directly, or another
method."""

import numpy as np
import pytest

import dotphase
from dotphase.comparison.trajectories import NoisyStart
from dotphase.figures.frame.figure import make_study
from dotphase.numerics.rules import Sobol
from dotphase.studies.run.runner import run_study


def test_the_published_method_is_off_on_the_positional_branch_and_close_on_the_semantic_one(
    tmp_path,
):
    rules = {"kind": "rules", "rules": ["published", "sobol 65536"]}
    study = make_study(
        "rules",
        {"alpha": 2.0, "omega": 0.3},
        {},
        positional=rules,
        semantic=rules | {"branch": "semantic"},
    )
    found = run_study(study, tmp_path / "rules.zarr")
    assert (found["positional_outcome"] == "converged").all()
    assert found["positional_nodes"].values[0] == 144
    low, good = found["positional_q"].values
    assert low < good - 3 * found["positional_q_error"].values[1]
    assert found["semantic_theta"].values[0] == pytest.approx(
        found["semantic_theta"].values[1], rel=0.02
    )


@pytest.mark.slow
def test_trajectories_begin_at_the_start_they_name(tmp_path):
    passing = {"kind": "trajectories", "d": 400, "seeds": 3, "steps": 1, "nodes": 2048}
    found = run_study(
        make_study("passing", {"alpha": 2.0, "omega": 0.3}, {}, passing=passing),
        tmp_path / "p.zarr",
    )
    begin = NoisyStart(0.6, 0.05, 0.4, 2.0).overlaps(dotphase.paper(2.0, 0.3))
    for name in ("q", "V", "m", "theta"):
        expected = np.ravel(getattr(begin, name))[0]
        assert found[f"passing_{name}_limit"].values[0] == pytest.approx(expected)
        assert found[f"passing_{name}"].values[0].mean() == pytest.approx(expected, rel=0.3)
    assert found["passing_q"].shape == (2, 3)


def test_stability_is_the_library_s(tmp_path):
    along = {"kind": "stability", "branches": ["positional"], "nodes": 2048}
    found = run_study(
        make_study("stability", {"omega": 0.3}, {"alpha": [1.5]}, along=along), tmp_path / "s.zarr"
    )
    rule = Sobol(2048)
    direct = dotphase.stability(
        dotphase.solve(dotphase.paper(1.5, 0.3), "positional", rule=rule, rtol=None), rule
    )
    at = found.sel(alpha=1.5, branch="positional")
    assert float(at["along_replicon"]) == direct.replicon.value
    assert float(at["along_eigenvalue_theta"]) == direct.eigenvalues["theta"].growth.value


def test_theory_knows_the_errors_of_its_overlaps(tmp_path):
    theory = {"kind": "theory", "nodes": 2048}
    found = run_study(
        make_study("theory", {"omega": 0.3}, {"alpha": [1.5]}, theory=theory), tmp_path / "t.zarr"
    )
    direct = dotphase.solve(dotphase.paper(1.5, 0.3), "positional", rule=Sobol(2048), rtol=None)
    assert float(found["theory_m_error"].sel(branch="positional")[0]) == pytest.approx(
        direct.overlap_errors.m[0, 0]
    )


def test_a_mixed_start_needs_two_columns():
    with pytest.raises(ValueError, match="rank two"):
        make_study("mixed", {"omega": 0.3}, {}, mixed={"kind": "mixed"})


@pytest.mark.slow
def test_a_student_of_rank_two_has_both_mechanisms_at_once(tmp_path):
    compute = {
        "theory": {"kind": "theory", "nodes": 2**14},
        "mixed": {"kind": "mixed", "nodes": 2**14},
    }
    compute["experiment"] = {"kind": "training", "d": 1000, "seeds": 12}
    study = make_study(
        "rank two", {"omega": 0.3, "student_rank": 2}, {"alpha": [0.4, 1.6]}, **compute
    )
    found = run_study(study, tmp_path / "r.zarr")
    assert found["mixed_mechanism"].values.tolist() == ["positional", "mixed"]
    lowest = found["theory_train_loss"].sel(alpha=1.6).min("branch")
    assert float(found["mixed_train_loss"].sel(alpha=1.6)) < float(lowest) - 1e-4
    for start in (
        "semantic",
        "positional",
    ):  # both end there; corrections of order 1/d are a few per cent at d = 1000
        trained = found.sel(alpha=1.6, start=start)
        assert float(trained["experiment_train_loss"].mean()) == pytest.approx(
            float(found["mixed_train_loss"][1]), rel=0.03
        )
        assert float(trained["experiment_m"].mean()) == pytest.approx(
            float(found["mixed_m"][1]), rel=0.03
        )
