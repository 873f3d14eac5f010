"""Every attention of the catalogue through the same invariants."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import dotphase
from dotphase.scenario.attentions.attention import lifted
from dotphase.scenario.attentions.catalogue import CATALOGUE, ENTRIES
from dotphase.scenario.attentions.symmetry import symmetries
from dotphase.scenario.files import scenario_from_toml, scenario_to_toml
from dotphase.scenario.tables import attention_from_text

A = [[0.6, 0.4], [0.4, 0.6]]
GIVEN = {
    "constant": {"positional": A},
    "mixture": {"positional": A, "mixing": 0.3},
    "relative": {"bias": [-0.5, 0.1, 0.7]},
}
GIVEN |= {"tempered": {"temperature": 0.5}, "sigmoid": {"threshold": 0.7}, "kernel": {"width": 0.8}}
GIVEN |= {"heads": {"heads": 2, "shares": [0.7, 0.3]}}


def softmax(scores):
    weights = np.exp(scores)
    return weights / weights.sum(1, keepdims=True)


FORMULAS = {  # of fields h, (2, columns), written once more, for one sample
    "softmax": lambda h: softmax(h @ h.T),
    "linear": lambda h: h @ h.T,
    "tempered": lambda h: softmax(h @ h.T / 0.5),
    "causal": lambda h: np.array([[1.0, 0.0], softmax(h @ h.T)[1]]),
    "sink": lambda h: np.exp(h @ h.T) / (1 + np.exp(h @ h.T).sum(1, keepdims=True)),
    "sigmoid": lambda h: 1 / (1 + np.exp(0.7 - h @ h.T)),
    "relu": lambda h: np.maximum(h @ h.T, 0) / 2,
    "relative": lambda h: softmax(h @ h.T + [[0.1, 0.7], [-0.5, 0.1]]),
    "kernel": lambda h: softmax(-((h - h.T) ** 2) / (2 * 0.64)),
    "heads": lambda h: 0.7 * softmax(h[:, :1] @ h[:, :1].T) + 0.3 * softmax(h[:, 1:] @ h[:, 1:].T),
    "constant": lambda h: np.array(A),
    "mixture": lambda h: 0.7 * softmax(h @ h.T) + 0.3 * np.array(A),
}


@pytest.fixture(params=CATALOGUE)
def attention(request):
    return CATALOGUE[request.param].build(**GIVEN.get(request.param, {}))


def scenario_of(attention):
    return dotphase.paper().vary(student=attention)


def test_it_is_its_formula_sample_by_sample(attention):
    fields = np.random.default_rng(0).normal(size=(2, attention.rank, 5))
    together = lifted(attention.form)(fields, **attention.values)
    for n in range(5):
        expected = FORMULAS[attention.kind](fields[..., n])
        np.testing.assert_allclose(together[..., n], expected, rtol=3e-6, atol=1e-7)
        np.testing.assert_allclose(attention(fields[..., n]), expected, rtol=3e-6, atol=1e-7)


def test_files_know_it(attention):
    for scenario in (
        scenario_of(attention),
        dotphase.paper().vary(teacher=attention, student=attention),
    ):
        assert scenario_from_toml(scenario_to_toml(scenario)) == scenario


def test_equal_ones_share_a_compilation(attention):
    again = CATALOGUE[attention.kind].build(**GIVEN.get(attention.kind, {}))
    assert again == attention
    assert again.form == attention.form
    assert hash(again.form) == hash(attention.form)
    assert scenario_of(again).structure == scenario_of(attention).structure


def test_its_symmetries_are_exact(attention):
    fields = np.random.default_rng(1).normal(size=(2, attention.rank, 3))
    for g in symmetries(scenario_of(attention)):
        order, moved = list(g.order), fields[list(g.order)] * np.array(g.student)[:, None]
        before = np.asarray(lifted(attention.form)(fields, **attention.values))[order][:, order]
        np.testing.assert_allclose(
            lifted(attention.form)(moved, **attention.values), before, rtol=1e-5, atol=1e-6
        )


def test_a_varied_number_inside_a_mixture_is_written():
    teacher = dotphase.attentions.mixture(A, 0.3, dotphase.attentions.kernel(width=0.8))
    scenario = dotphase.paper().vary(teacher=teacher).vary(width=0.5)
    again = scenario_from_toml(scenario_to_toml(scenario))
    assert again.teacher.values["width"] == 0.5


def test_by_text():
    assert attention_from_text("kernel:width=0.8") == dotphase.attentions.kernel(width=0.8)
    made = attention_from_text("heads:heads=2,shares=[0.7,0.3]")
    assert made == dotphase.attentions.heads(2, shares=[0.7, 0.3])
    for text, says in (
        ("nope", "expected one of softmax"),
        ("kernel:width=x", "numbers like"),
        ("sink:rank=0", "rank"),
    ):
        with pytest.raises(ValueError, match=says):
            attention_from_text(text)


def test_a_bias_of_the_wrong_length_is_refused():
    with pytest.raises(ValueError, match="bias: expected 3 numbers for 2 tokens, got 5"):
        scenario_of(dotphase.attentions.relative(bias=np.zeros(5)))


def test_the_command_line_lists_them():
    from dotphase.cli.app import app

    told = json.loads(CliRunner().invoke(app, ["attentions", "--json"]).stdout)
    assert [entry["kind"] for entry in told] == [entry.kind for entry in ENTRIES]
    assert all(entry["formula"] and entry["parameters"] for entry in told)
    assert "softmax_j(s_ij + b_{j−i})" in CliRunner().invoke(app, ["attentions"]).stdout
