"""Scenarios: what they accept, refuse, compare, print and write."""

import copy
import pickle
import re

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dotphase import attentions
from dotphase.scenario.attentions.attention import Attention, lifted
from dotphase.scenario.files import (
    read_scenario,
    scenario_from_tables,
    scenario_from_toml,
    scenario_to_tables,
    scenario_to_toml,
    write_scenario,
)
from dotphase.scenario.names import ALIASES, alias_of, word_of
from dotphase.scenario.presets import paper
from dotphase.scenario.scenario import Scenario
from dotphase.scenario.tables import PaperTable
from dotphase.scenario.tokens import (
    Positions,
    Tokens,
    isotropic,
    no_positions,
    opposite_positions,
    positions_from_gram,
)

A = ((0.6, 0.4), (0.4, 0.6))


def small(**changes):
    parts = {
        "teacher": attentions.mixture(A, 0.3),
        "student": attentions.softmax(1),
        "tokens": isotropic(2, 0.5),
        "positions": opposite_positions(),
        "sample_ratio": 2.0,
        "ridge": 0.01,
    }
    return Scenario(**{**parts, **changes})


def test_the_paper_is_the_paper():
    assert paper(alpha=2, omega=0.3) == small()
    assert hash(paper(alpha=2, omega=0.3)) == hash(small())
    assert paper(omega=0.2) != small()


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("sample_ratio", lambda: small(sample_ratio=0)),
        ("sample_ratio", lambda: small(sample_ratio=-1)),
        ("sample_ratio", lambda: small(sample_ratio="many")),
        ("sample_ratio", lambda: small(sample_ratio=float("nan"))),
        ("ridge", lambda: small(ridge=-1e-3)),
        ("tokens.eigenvalues", lambda: Tokens([[0.25, -0.1]])),
        ("tokens.weights", lambda: Tokens([[0.25, 0.1]], [0.5, 0.5])),
        ("tokens.weights", lambda: Tokens([[0.25], [0.1]], [1.0, -0.5])),
        ("positions", lambda: small(positions=no_positions(3))),
        (
            "positions",
            lambda: small(tokens=Tokens([[1, 1], [2, 2]]), positions=Positions(np.ones((3, 2)))),
        ),
        ("positional", lambda: small(teacher=attentions.mixture(np.eye(3), 0.3))),
        ("positional", lambda: paper(positional="odd")),
        ("mixing", lambda: small(teacher=attentions.mixture(A, 1.5))),
        ("mixing", lambda: small().vary(mixing=-0.1)),
        ("student", lambda: small(student=Attention(lambda h: h, rank=1))),
        ("student", lambda: small(student=Attention(lambda h: h @ h, rank=1))),
        ("student", lambda: small(student="softmax")),
        ("rank", lambda: attentions.softmax(0)),
        ("teacher_weights", lambda: small(teacher_weights=np.ones((1, 2)))),
        ("teacher_weights", lambda: small(teacher_weights=np.zeros((1, 1)))),
        ("token_deviation", lambda: isotropic(2, -0.5)),
        ("volume", lambda: small().vary(volume=3)),
        ("token_deviation", lambda: small().vary(sigma="wide")),
        ("length", lambda: isotropic(2.5)),
        ("positional: expected real", lambda: paper(positional=1j * np.eye(2))),
        ("gram: .* symmetric", lambda: positions_from_gram([[1.0, 0.2], [0.1, 1.0]])),
    ],
)
def test_bad_values_name_the_field_in_one_line(field, change):
    with pytest.raises(ValueError, match=field) as refused:
        change()
    assert "\n" not in str(refused.value)


def test_vary_changes_numbers_by_either_name():
    assert small().vary(alpha=1.5, omega=0.1, sigma=0.7) == paper(alpha=1.5, omega=0.1, sigma=0.7)
    assert small().vary(sample_ratio=1.5, ridge=0.2) == paper(alpha=1.5, ridge=0.2)
    assert small().vary(sigma=0.7).value_of("sigma") == pytest.approx(0.7, rel=1e-14)
    assert small().vary(omega=0.25).value_of("omega") == 0.25


def test_print_tells_the_numbers():
    text = str(paper(alpha=1.75, omega=0.35))
    assert "1.75" in text
    assert "0.35" in text


BUILT_IN = [
    paper(alpha=1.3, omega=0.123456789, positional="alternative"),
    small(
        student=attentions.softmax(2, tied=False),
        teacher=attentions.mixture(A, 0.1, attentions.linear(2)),
    ),
    small(
        student=attentions.constant(A),
        tokens=Tokens([[0.1, 0.2], [0.3, 0.4]], [1, 3]),
        positions=Positions([1, 2]),
    ),
    small(teacher=attentions.softmax(1), teacher_weights=[[0.5]]),
]


@pytest.mark.parametrize("scenario", BUILT_IN)
def test_files_give_back_an_equal_scenario(scenario, tmp_path):
    write_scenario(scenario, tmp_path / "scenario.toml")
    assert read_scenario(tmp_path / "scenario.toml") == scenario


@settings(max_examples=30, deadline=None)
@given(
    st.floats(1e-3, 1e3),
    st.floats(0, 10),
    st.floats(0, 1),
    st.lists(st.lists(st.floats(1e-6, 1e6), min_size=2, max_size=2), min_size=1, max_size=4),
)
def test_any_numbers_survive_a_file(alpha, ridge, omega, spectrum):
    scenario = small(
        sample_ratio=alpha,
        ridge=ridge,
        teacher=attentions.mixture(A, omega),
        tokens=Tokens(spectrum),
    )
    assert scenario_from_toml(scenario_to_toml(scenario)) == scenario


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("sample_ratio = 1", "ridge: missing"),
        (scenario_to_toml(paper()) + "\n[more]\nx = 1\n", "more: unknown"),
        (scenario_to_toml(paper()).replace('kind = "mixture"', 'kind = "blend"'), "teacher.kind"),
        (scenario_to_toml(paper()).replace("rank = 1", "rank = 0"), "rank"),
        ("sample_ratio = ", "Invalid value"),
    ],
)
def test_bad_files_say_what_is_wrong(text, says, tmp_path):
    (tmp_path / "bad.toml").write_text(text)
    with pytest.raises(ValueError, match=says):
        read_scenario(tmp_path / "bad.toml")


def test_a_custom_function_cannot_be_written():
    with pytest.raises(ValueError, match="student: a custom function"):
        scenario_to_toml(small(student=Attention(lambda h: h @ h.T, rank=1)))


def test_lifted_attentions_equal_the_single_sample():
    fields = np.random.default_rng(0).normal(size=(3, 2, 5))
    for attention in (
        attentions.softmax(2),
        attentions.softmax(1, tied=False),
        attentions.linear(2),
    ):
        together = lifted(attention.form)(jnp.asarray(fields), **attention.values)
        for n in range(5):
            np.testing.assert_allclose(together[..., n], attention(fields[..., n]), rtol=2e-6)


def test_softmax_attention_is_the_formula():
    h = np.random.default_rng(1).normal(size=(3, 2))
    weights = np.exp(h @ h.T)
    expected = weights / weights.sum(1, keepdims=True)
    np.testing.assert_allclose(attentions.softmax(2)(h), expected, rtol=1e-6)
    untied = np.exp(h[:, :1] @ h[:, 1:].T)
    np.testing.assert_allclose(
        attentions.softmax(1, tied=False)(h), untied / untied.sum(1, keepdims=True), rtol=1e-6
    )


def test_law_merges_equal_spectra_and_keeps_second_moments():
    tau = np.array([[1.0, -1.0], [2.0, 0.5], [0.3, 0.3]])
    tokens = Tokens([[0.2, 0.3], [0.2, 0.3], [1.0, 2.0]], [0.25, 0.25, 0.5])
    distribution = small(tokens=tokens, positions=Positions(tau)).distribution
    assert len(distribution.weight) == 2
    np.testing.assert_allclose(distribution.gram, (tokens.share[:, None] * tau).T @ tau, rtol=1e-14)
    np.testing.assert_allclose(distribution.mean_gamma, tokens.share @ tokens.gamma, rtol=1e-14)
    np.testing.assert_allclose(distribution.rho[:, 0, 0], distribution.mean_gamma, rtol=1e-14)


def test_positions_from_a_gram_matrix():
    gram = np.array([[1.0, -0.5, 0.1], [-0.5, 2.0, 0.3], [0.1, 0.3, 0.7]])
    scenario = Scenario(
        attentions.mixture(np.full((3, 3), 1 / 3), 0.2),
        attentions.softmax(1),
        isotropic(3),
        positions_from_gram(gram),
        1.0,
        0.1,
    )
    np.testing.assert_allclose(scenario.distribution.gram, gram, atol=1e-14)


def kernel(h, width):
    squared = ((h[:, None] - h[None]) ** 2).sum(-1)
    return jnp.exp(-squared / (2 * width**2))


SCENARIOS = [*BUILT_IN, small(student=Attention(kernel, rank=1, parameters={"width": 0.8}))]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_pickled_scenario_is_equal_and_shares_the_compilation(scenario):
    again = pickle.loads(pickle.dumps(scenario))
    assert again == scenario
    assert hash(again) == hash(scenario)
    assert again.structure == scenario.structure  # the key of what is compiled
    assert hash(again.structure) == hash(scenario.structure)


def test_mixtures_built_twice_are_equal_and_differ_with_their_semantic_part():
    assert attentions.mixture(A, 0.3) == attentions.mixture(A, 0.3)
    assert attentions.mixture(A, 0.3).form == attentions.mixture(A, 0.5).form
    assert attentions.mixture(A, 0.3, attentions.linear()).form != attentions.mixture(A, 0.3).form


def test_pickle_names_the_function_that_it_cannot_take_along():
    custom = Attention(lambda h: h @ h.T, rank=1)
    for attention in (custom, attentions.mixture(A, 0.3, custom)):
        with pytest.raises((pickle.PicklingError, AttributeError), match="lambda>"):
            pickle.dumps(small(student=attention))
        assert copy.deepcopy(small(student=attention)) == small(student=attention)


def test_picklers_that_take_functions_along_may():
    cloudpickle = pytest.importorskip("cloudpickle")
    scenario = cloudpickle.loads(
        cloudpickle.dumps(small(student=Attention(lambda h: h @ h.T, rank=1)))
    )
    assert scenario.ranks == (1, 1)


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda h: jnp.log(h @ h.T), "NaN or infinity"),
        (lambda h: 1j * h @ h.T, "real floating-point numbers, it returned complex"),
        (lambda h: h[2, 0] * jnp.eye(2), "looks beyond its fields, which have shape"),
        (lambda h: h[:, 1] * jnp.eye(2), "looks beyond its fields, which have shape"),
        (lambda h: [[h[0] @ h[0]], [0.0]], "one array of shape"),
        (lambda h: (lambda a, b, c: a)(*h), "fails on fields of shape"),
    ],
)
def test_a_student_that_cannot_be_is_refused_in_one_line(function, says):
    with pytest.raises(ValueError, match=f"student: its function .*{says}") as refused:
        small(student=Attention(function, rank=1))
    assert "\n" not in str(refused.value)


def test_one_number_under_two_names_is_refused():
    for twice in (
        {"alpha": 1, "sample_ratio": 2},
        {"lambda": 1, "ridge": 2},
        {"omega": 0.1, "mixing": 0.2},
    ):
        with pytest.raises(ValueError, match="two names of one number"):
            paper().vary(**twice)
        with pytest.raises(ValueError, match="two names of one number"):
            paper(**twice)
    with pytest.raises(ValueError, match="given twice"):
        paper(1.0, sample_ratio=2.0)


def test_the_table_of_names_works_in_both_directions():
    for alias, word in ALIASES.items():
        assert word_of(alias) == word_of(word) == word
        assert alias_of(alias) == alias_of(word) == alias
        assert (
            paper(**{alias: 0.7})
            == paper(**{word: 0.7})
            == paper().vary(**{alias: 0.7})
            == paper().vary(**{word: 0.7})
        )


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda t: t | {"alpha": 2.0}, "two names of one number"),
        (lambda t: t | {"sample_ratio": True}, "sample_ratio: should be a valid number, got True"),
        (lambda t: t | {"ridge": -1.0}, "ridge: should be greater than or equal to 0"),
        (
            lambda t: t | {"student": {"kind": "softmax", "rnk": 2}},
            "student.rnk: unknown; expected one of kind, rank",
        ),
        (lambda t: t | {"student": "softmax"}, "student: expected a table"),
        (
            lambda t: t | {"teacher": t["teacher"] | {"mixing": 2}},
            "teacher.mixing: should be less than or equal to 1",
        ),
        (
            lambda t: t | {"tokens": {"length": 2, "eigenvalues": [[1.0, 1.0]]}},
            "tokens: give `eigenvalues`",
        ),
    ],
)
def test_tables_name_the_field_that_is_wrong(change, says):
    with pytest.raises(ValueError, match=re.escape(says)) as refused:
        scenario_from_tables(change(scenario_to_tables(paper())))
    assert "\n" not in str(refused.value)


def test_tables_take_the_letters_of_the_paper():
    tables = scenario_to_tables(paper(alpha=1.5, omega=0.2, sigma=0.7))
    tables["alpha"], tables["lambda"] = tables.pop("sample_ratio"), tables.pop("ridge")
    tables["teacher"]["omega"] = tables["teacher"].pop("mixing")
    tables["tokens"] = {"length": 2, "sigma": 0.7}
    assert scenario_from_tables(tables) == paper(alpha=1.5, omega=0.2, sigma=0.7)
    assert PaperTable(sample_ratio=1.5, omega=0.2, sigma=0.7).build() == paper(
        alpha=1.5, omega=0.2, sigma=0.7
    )
