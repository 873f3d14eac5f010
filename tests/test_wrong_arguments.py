"""Wrong arguments of public functions are refused in one line that begins with their name."""
# pyright: reportArgumentType=false

import numpy as np
import pytest

import dotphase as dp
from dotphase.finite import exact_test_error
from dotphase.theory import critical, sensitivities

TASK = dp.paper(alpha=1, omega=0.3)
WEIGHTS = np.ones((10, 1))
CALLS = {
    "scenario": [
        lambda: dp.solve(None),
        lambda: dp.train(None, d=10),
        lambda: dp.gamp(3, d=10),
        lambda: dp.compare("x", d=10),
        lambda: dp.phase(None),
        lambda: dp.branches(None, [1.0]),
        lambda: dp.sample(None, d=10),
        lambda: dp.learning_curve(None, steps=2),
        lambda: dp.linear_baseline(None),
        lambda: critical(None),
    ],
    "rule": [lambda: dp.solve(TASK, rule=1024)],
    "rtol": [lambda: dp.solve(TASK, rtol="a"), lambda: dp.solve(TASK, rtol=-1)],
    "budget": [lambda: dp.solve(TASK, budget=-1)],
    "d": [
        lambda: dp.train(TASK, d=100.5),
        lambda: dp.sample(TASK, d=-1),
        lambda: dp.learning_curve(TASK, steps=2, d=1.5),
    ],
    "seeds": [
        lambda: dp.compare(TASK, d=50, seeds=1.5),
        lambda: dp.train(TASK, d=50, seeds="a"),
        lambda: dp.train(TASK, d=50, seeds=0),
    ],
    "seed": [lambda: dp.train(TASK, d=50, seeds=[1.5])],
    "values": [lambda: dp.branches(TASK, 1.0)],
    "between": [lambda: critical(TASK, between=("a", "b"))],
    "instance": [lambda: exact_test_error(TASK, WEIGHTS)],
    "weights": [lambda: exact_test_error(dp.sample(TASK, d=10).instance, WEIGHTS[1:])],
    "solution": [lambda: sensitivities(TASK)],
    "sample_ratio": [lambda: dp.paper(alpha=True), lambda: dp.paper(alpha=np.inf)],
}


@pytest.mark.parametrize(
    ("name", "call"), [(name, call) for name, several in CALLS.items() for call in several]
)
def test_a_wrong_argument_is_named(name, call):
    with pytest.raises(ValueError, match=f"^{name}: ") as refused:
        call()
    assert len(str(refused.value).splitlines()) == 1


def test_an_attention_that_overflows_at_large_fields_has_symmetries():
    import jax.numpy as jnp

    steep = dp.Attention(lambda h: jnp.exp(50 * h @ h.T), rank=1)
    solution = dp.solve(TASK.vary(student=steep), rtol=None)
    assert solution.outcome in ("stalled", "collapsed", "converged", "imprecise")


def test_an_unknown_parameter_of_the_paper_is_named():
    for value in (0.3, "a"):
        with pytest.raises(TypeError, match=r"^omga: not a number of the paper"):
            dp.paper(omga=value)


def test_unusual_arguments_that_are_right_are_taken():
    solution = dp.solve(TASK, rule=dp.Sobol(2**6), rtol=None)
    few = {"rules": [dp.Sobol(2**6)], "rtol": None}
    assert len(dp.solve_many([TASK], solution, **few)) == 1
    assert len(dp.train(TASK, d=np.int64(20), seeds=np.array(2)).runs) == 2
    assert len(dp.train(TASK, d=20.0, seeds=np.arange(3)).runs) == 3
    assert dp.LBFGS(steps=2.0).steps == 2
    assert isinstance(dp.LBFGS(steps=2.0).steps, int)
    assert dp.paper(alpha=np.float32(2)).sample_ratio == 2
    sizes = {10: dp.Estimate(1.0, 0.1), 20: dp.Estimate(2.0, 0.1)}
    assert dp.results.at_infinite_size(sizes.keys(), list(sizes.values())).value == pytest.approx(3)
    assert dp.phase(TASK, rule=dp.GaussHermite(4)).winner


def test_what_needs_scrambles_says_so():
    with pytest.raises(ValueError, match=r"^rule: expected a Sobol, such as dotphase\.Sobol"):
        dp.critical(TASK, rule=dp.GaussHermite(4))
    with pytest.raises(ValueError, match=r"^mechanisms: expected two different words"):
        dp.critical(TASK, mechanisms=("semantic", "semantic"))
    with pytest.raises(ValueError, match=r"^positional: an array"):
        TASK.value_of("positional")
