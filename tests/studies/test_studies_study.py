"""Studies: what they accept, what they refuse in one line, and that TOML and Python say the same."""

import json

import numpy as np
import pytest

from dotphase.scenario.files import write_scenario
from dotphase.scenario.presets import paper
from dotphase.studies.study.plan import plans_of
from dotphase.studies.study.study import Study, read_study, study_from, study_schema

TEXT = """
name = "slices"
[scenario]
paper = { omega = 0.2, lambda = 0.02 }
[axes]
alpha = { linspace = [1.0, 2.0, 5] }
sigma = [0.3, 0.5]
d = [50, 100]
[compute.theory]
kind = "theory"
nodes = 1024
follow = "alpha"
[compute.linear]
kind = "baseline"
[compute.experiment]
kind = "training"
seeds = 3
at = { alpha = { logspace = [0.5, 2.0, 3] } }
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "study.toml").write_text(TEXT)
    return tmp_path / "study.toml"


def test_a_file_and_python_are_two_spellings(file):
    study = read_study(file)
    assert study.base == paper(omega=0.2, ridge=0.02)
    assert Study.model_validate_json(study.model_dump_json()) == study
    assert study.compute["theory"].nodes == 1024


def test_each_computation_has_the_axes_it_depends_on(file):
    plans = plans_of(read_study(file))
    assert plans["theory"].dims == ("alpha", "sigma", "branch")
    assert plans["theory"].reach == (5, 1, 2)
    assert plans["linear"].dims == ("sigma",)
    assert plans["experiment"].dims == ("experiment_alpha", "sigma", "d", "start", "seed")
    np.testing.assert_allclose(plans["experiment"].coordinates[0], [0.5, 1.0, 2.0])


def test_units_tile_the_box_once(file):
    for plan in plans_of(read_study(file, ["compute.experiment.batch=2"])).values():
        times = np.zeros(plan.shape, int)
        for unit in range(len(plan)):
            times[plan.box(unit)] += 1
        assert (times == 1).all()


def test_points_have_the_numbers_of_their_place(file):
    plan = plans_of(read_study(file))["theory"]
    places = plan.places(1)
    assert [place.scenario.sample_ratio for place in places] == [1.0, 1.25, 1.5, 1.75, 2.0]
    assert all(place.scenario.tokens.deviation == pytest.approx(0.5) for place in places)


def test_overrides(file):
    changed = read_study(
        file, ["axes.alpha.linspace=[0.5, 1, 2]", "name=other", "compute.theory.stability=true"]
    )
    assert changed.values("alpha").tolist() == [0.5, 1.0]
    assert changed.name == "other"
    assert changed.compute["theory"].stability is True


def test_a_scenario_file_is_taken_in(file, tmp_path):
    write_scenario(paper(omega=0.1), tmp_path / "task.toml")
    text = TEXT.replace("paper = { omega = 0.2, lambda = 0.02 }", 'file = "task.toml"')
    file.write_text(text)
    study = read_study(file)
    (tmp_path / "task.toml").unlink()
    assert study.base == paper(omega=0.1)


def own_scenario():
    return paper(omega=0.4)


def nothing():
    return 4


def of_function(name):
    return {"scenario": {"python": name}, "compute": {"linear": {"kind": "baseline"}}}


def test_a_scenario_of_ones_own():
    study = study_from(of_function(f"{__name__}:own_scenario"), trust_code=True)
    assert study.base == paper(omega=0.4)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (f"{__name__}:nothing", "gave int, not a Scenario"),
        (f"{__name__}:absent", "cannot be imported"),
        ("absent:absent", "cannot be imported"),
        ("os:getcwd", "gave str, not a Scenario"),
        ("math:sqrt", "failed: TypeError"),
        ("nonsense", "cannot be imported"),
    ],
)
def test_a_function_that_gives_no_scenario_is_one_line(name, told):
    with pytest.raises(ValueError, match=told) as refusal:
        study_from(of_function(name), trust_code=True)
    assert "\n" not in str(refusal.value)


def test_code_is_not_run_unless_trusted():
    with pytest.raises(ValueError, match=r"would import the module 'os' and run it.*--trust-code"):
        study_from(of_function("os:abort"))
    with pytest.raises(ValueError, match=r"compute.x: kind: 'antigravity:fly' would import"):
        study_from({"compute": {"x": {"kind": "antigravity:fly"}}})


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("axes.beta=[1, 2]", "axes.beta: neither a number"),
        ("axes.omega=[0.5, 1.5]", "axes.omega: mixing"),
        ("axes.sample_ratio=[1, 2]", "two axes"),
        ("axes.alpha.linspace=[1, 2]", "axes.alpha"),
        ("axes.alpha=[1, 1]", "occurs twice"),
        ("axes.seeds=[1, 2]", "shape of the result"),
        ("compute.theory.kind=magic", "compute.theory: kind: expected one of baseline"),
        ("compute.theory.follow=omega", "follow: 'omega' is not an axis"),
        ("compute.theory.rtol=0.1", "rtol"),
        ("compute.theory.nods=12", "compute.theory.nods"),
        ("compute.experiment.seeds=[1, 1]", "seeds"),
        ("compute.experiment.at.omega=[0.1]", "at.omega: not an axis"),
        (
            "compute.experiment.at.alpha=[-1]",
            "compute.experiment.at.alpha: sample_ratio: α must be",
        ),
        ("compute.experiment.at.alpha=['a']", "compute.experiment.at.alpha: expected numbers"),
        ("compute.experiment.at.alpha=[1, 1]", "compute.experiment.at.alpha: a value occurs twice"),
        ("compute.experiment.starts=[]", "compute.experiment.starts: at least one value is needed"),
        ("compute.theory.branches=[]", "compute.theory.branches: at least one value is needed"),
        ("compute.x={kind='rules', rules=[]}", "compute.x.rules: at least one value is needed"),
        (
            "compute.x={kind='counting', mechanisms=[]}",
            "x.mechanisms: at least one value is needed",
        ),
        (
            "compute.x={kind='transitions', near='linear'}",
            "compute.x.near: 'linear' has no semantic",
        ),
        ("compute.experiment.rate=0.1", "rate: lbfgs has none"),
        ("axes.alpha=['a', 'b']", "axes.alpha: expected numbers, got ['a', 'b']"),
        ("scenario={file=3}", "scenario: file: expected the name of a file, got 3"),
        ("scenario={python=3}", "scenario.python: expected package.module:function, got 3"),
        ("axes.d=['a']", "compute.experiment.d: should be a valid integer"),
        ("compute.lines={kind='transitions', near='nothing'}", "needs 'nothing'"),
        ("scenario.paper.beta=1", "scenario.paper"),
        ("axes.alpha.linspace=[0, 1, 100000000000]", "less than or equal to 1000000"),
        ("axes.sigma=[1e200]", "axes.sigma"),
        ("scenario.paper.sigma=1e200", "sigma"),
        ("time_limit=0", "time_limit"),
        ("nonsense", "--set"),
    ],
)
def test_bad_studies_are_refused_in_one_line(file, override, told):
    with pytest.raises(ValueError, match=r"\w") as refusal:
        read_study(file, [override])
    assert told in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert "pydantic" not in str(refusal.value)


def test_what_ignores_the_scenario_is_computed_once(file):
    study = read_study(file, ["compute.model={kind='language', steps=10}"])
    plan = plans_of(study)["model"]
    assert plan.dims == ("tokens", "step", "model_seed", "head")


def test_the_schema_knows_every_kind():
    schema = study_schema()
    text = json.dumps(schema)
    for name in ("Theory", "Baseline", "Transitions", "Training", "Gamp", "Counting"):
        assert name in schema["$defs"]
        assert f"#/$defs/{name}" in text
