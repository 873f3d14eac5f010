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
