"""Files of results: read back whole, or refused in one line, and never a reason to run code."""

import json
import zipfile
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
import pytest

import dotphase
from dotphase.finite.training.runs import Runs
from dotphase.numerics.rules import Sobol
from dotphase.results.archive import FORMAT, _decoded, _encoded
from dotphase.results.result import Result


def gaussian_kernel(h, width):
    weights = jnp.exp(-((h[:, None] - h[None]) ** 2).sum(-1) / (2 * width**2))
    return weights / weights.sum(1, keepdims=True)


@pytest.fixture
def own():
    """A result of a scenario whose student no file can hold."""
    student = dotphase.Attention(gaussian_kernel, rank=1, parameters={"width": 0.8})
    scenario = dotphase.paper(alpha=2).vary(student=student, teacher=dotphase.attentions.softmax(1))
    return Runs(scenario, 10, "semantic", "LBFGS", (), 0.0)


def write(path, document, arrays=()):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("result.json", json.dumps(document))
        for name, content in arrays:
            file.writestr(name, content)
    return path


@pytest.mark.parametrize(
    "value",
    [
        *(
            None,
            True,
            3,
            2.5,
            float("inf"),
            -float("inf"),
            1 + 2j,
            "ε",
            [1, (2.0, "x")],
            {"a": {1: (None,)}},
        ),
        *(
            np.arange(6).reshape(2, 3),
            np.array(["a", "bc"]),
            np.zeros((0, 2)),
            Sobol(64),
            dotphase.Estimate(1.0, 0.1, 4),
        ),
        dotphase.paper(omega=0.4),
    ],
)
def test_every_value_comes_back(value):
    arrays = []
    text = json.dumps(_encoded(value, arrays), allow_nan=False)
    found = _decoded(json.loads(text), arrays.__getitem__, {})
    assert type(found) is type(value)
    np.testing.assert_equal(found, value)


def test_a_function_of_ones_own_is_given_again(own, tmp_path):
    own.save(tmp_path / "own")
    with pytest.raises(ValueError, match="needs your function gaussian_kernel"):
        dotphase.load(tmp_path / "own")
    for functions in ([gaussian_kernel], {"gaussian_kernel": gaussian_kernel}):
        assert dotphase.load(tmp_path / "own", functions) == own


def test_another_class_is_refused(own, tmp_path):
    own.save(tmp_path / "own")
    with pytest.raises(ValueError, match="holds a Runs, not a Baseline"):
        dotphase.theory.Baseline.load(tmp_path / "own", [gaussian_kernel])


@pytest.mark.parametrize(
    "kind",
    [
        "os:system",
        "subprocess:Popen",
        "dotphase.__main__:Main",
        "dotphase.cli.app:App",
        "dotphase.theory.solver.solve:solve",
    ],
)
def test_a_strange_class_is_not_built(tmp_path, kind):
    path = write(tmp_path / "evil", {"format": FORMAT, "result": {"is": kind, "value": {}}})
    with pytest.raises(ValueError, match="cannot be read as a saved result"):
        dotphase.load(path)


def test_a_pickle_inside_is_not_opened(tmp_path):
    import io

    buffer = io.BytesIO()
    np.save(buffer, np.array([print], dtype=object), allow_pickle=True)
    document = {"format": FORMAT, "result": {"is": "array", "value": 0}}
    with pytest.raises(ValueError, match="allow_pickle"):
        dotphase.load(write(tmp_path / "evil", document, [("0.npy", buffer.getvalue())]))


def test_what_is_no_result_is_refused_in_one_line(tmp_path):
    (tmp_path / "text").write_text("hello")
    write(tmp_path / "other", {"format": "something else", "result": 1})
    write(tmp_path / "list", [1, 2])
    (tmp_path / "cut").write_bytes(
        write(tmp_path / "whole", {"format": FORMAT, "result": 1}).read_bytes()[:-30]
    )
    for name in ("text", "other", "list", "cut", "missing", "."):
        with pytest.raises(ValueError, match=str(tmp_path)) as refusal:
            dotphase.load(tmp_path / name)
        assert "\n" not in str(refusal.value)


def test_a_save_that_fails_leaves_nothing(tmp_path):
    @dataclass(frozen=True, repr=False, eq=False)
    class Odd(Result):
        held: object

    with pytest.raises(ValueError, match="only classes of this package"):
        Odd(1).save(tmp_path / "odd")
    assert list(tmp_path.iterdir()) == []
