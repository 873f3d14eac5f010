"""What is taken away, and what is typed in."""

import shlex

import pytest

from dotphase.explorer.answers.export import texts
from dotphase.explorer.answers.letters import count_letters, provenance, read_letters, tokens_of
from dotphase.explorer.answers.shipped import DIAGRAM
from dotphase.explorer.answers.task import STUDENTS, Export
from dotphase.studies.study.study import read_study

OTHER = {
    "alpha": 1.25,
    "omega": 0.15,
    "sigma": 0.7,
    "lambda": 0.003,
    "correlation": 0.0,
    "positional": [[0.3, 0.7], [0.8, 0.2]],
}


@pytest.mark.parametrize("student", STUDENTS)
@pytest.mark.parametrize("along", ["alpha", "omega", "sigma", "lambda"])
@pytest.mark.parametrize("correlation", [0.0, -0.2])
def test_python_and_the_study_file_mean_the_same_scenario(student, along, correlation, tmp_path):
    asked = Export.model_validate(
        {"task": {**OTHER, "student": student, "correlation": correlation}, "along": along}
    )
    said = texts(asked)
    names = {}
    exec(
        "\n".join(
            line for line in said["python"].splitlines() if "scenario =" in line or "import" in line
        ),
        names,
    )
    assert names["scenario"] == asked.task.scenario()
    (tmp_path / "study.toml").write_text(said["study"])
    study = read_study(tmp_path / "study.toml")
    assert study.base == asked.task.scenario()
    assert list(study.axes) == [along]
    assert len(study.values(along)) == 25


@pytest.mark.parametrize("student", STUDENTS)
def test_the_command_line_takes_what_is_copied(student):
    from dotphase.cli.options import _scenario

    asked = Export.model_validate({"task": {**OTHER, "student": student}})
    for line in texts(asked)["command"].splitlines():
        words = shlex.split(line)
        given = dict(zip(words[2::2], words[3::2], strict=True))
        numbers = {
            name: float(given[f"--{name}"]) for name in ("alpha", "omega", "sigma", "lambda")
        }
        words = {name: given.get(f"--{name}") for name in ("positional", "student", "scenario")}
        assert _scenario({**numbers, **words}) == asked.task.scenario()


def test_bibtex_names_the_paper():
    assert "2402.03902" in texts(Export())["bibtex"]


def test_nothing_that_is_a_letter_is_refused():
    assert read_letters("Hé llo") == (["H", "E", "L", "L", "O"], [])
    assert read_letters("ßж한字") == (["S", "S", "Ж", "한", "字"], [])
    assert read_letters("a1b?😀") == (["A", "B"], ["1", "?", "😀"])
    assert len(set(tokens_of(list("жабвгдеёйк")))) == 10
    assert max(tokens_of(list("ZYXWVUTSЖ字"))) < 26


def test_ten_letters_are_counted_and_less_is_explained():
    answer = count_letters("Banana Rama")
    assert answer["letters"] == list("BANANARAMA")
    assert answer["truth"] == [1, 5, 2, 5, 2, 5, 1, 5, 1, 5]
    for model in answer["models"].values():
        assert len(model["counts"]) == 10
        assert all(abs(sum(row) - 1) < 1e-3 for row in model["attention"])
    short = count_letters("ab 1")
    assert "models" not in short
    assert "8 more letters" in short["note"]
    assert "1" in short["note"]


def test_both_transformers_that_ship_can_count():
    import numpy as np

    rng = np.random.default_rng(0)
    words = ["".join(chr(65 + k) for k in rng.integers(26, size=10)) for _ in range(200)]
    answers = [count_letters(word) for word in words]
    for mechanism in ("semantic", "positional"):
        right = np.mean([np.equal(a["models"][mechanism]["counts"], a["truth"]) for a in answers])
        told = provenance()[mechanism]["validation_accuracy"]
        assert right > 0.99, mechanism
        assert right == pytest.approx(told, abs=4 * np.sqrt(told * (1 - told) / 2000) + 1e-3)


def test_the_shipped_diagram_is_whole_and_agrees_with_the_theory():
    import json

    diagram = json.loads(DIAGRAM.read_text(encoding="utf-8"))
    shape = (len(diagram["omega"]), len(diagram["alpha"]))
    for name in ("margin", "winner", "broken"):
        assert (len(diagram[name]), len(diagram[name][0])) == shape, name
    line = diagram["lines"]["train-loss"]
    at = line["omega"].index(0.3)
    assert abs(line["alpha"][at] - 1.2509) < 4 * line["error"][at]
    assert {"study", "dotphase", "jax"} <= set(diagram["provenance"])
