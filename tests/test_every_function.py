"""Every public function, called with every kind of nonsense in every argument: an answer, or one line
that begins with the argument's name."""
# pyright: reportArgumentType=false

import inspect

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dotphase as dp
from dotphase import bayes, heads, learning, mechanism, theory
from dotphase.scenario.arguments import CHECKS

TASK, RULE = dp.paper(alpha=1, omega=0.3), dp.Sobol(2**6)
SOLUTION = dp.solve(TASK, rule=RULE, rtol=None)
RNG = np.random.default_rng(0)
IDS = RNG.integers(20, size=(60, 5))
FUNCTIONS = {
    dp.paper: {},
    dp.solve: {"scenario": TASK},
    dp.train: {"scenario": TASK, "d": 20},
    dp.gamp: {"scenario": TASK, "d": 20},
    dp.sample: {"scenario": TASK, "d": 20},
    dp.compare: {"scenario": TASK, "d": 20},
    dp.branches: {"scenario": TASK, "values": [1.0]},
    dp.phase: {"scenario": TASK},
    dp.find_fixed_points: {"scenario": TASK},
    dp.critical: {"scenario": TASK},
    dp.linear_baseline: {"scenario": TASK},
    dp.learning_curve: {"scenario": TASK, "steps": 2},
    dp.stability: {"solution": SOLUTION},
    theory.sensitivities: {"solution": SOLUTION},
    bayes.bayes: {"scenario": TASK},
    bayes.bayes_message_passing: {"scenario": TASK, "d": 20},
    bayes.weak_recovery: {"scenario": TASK},
    learning.one_pass: {"scenario": TASK},
    learning.simulate: {"scenario": TASK, "d": 20},
    heads.measure: {"head": RNG.standard_normal((60, 5, 5)), "sentences": IDS},
    mechanism.measure_shares: {"scores": RNG.standard_normal((60, 1, 5, 5)), "ids": IDS},
}
ARGUMENTS = [
    (function, name)
    for function in FUNCTIONS
    for name in inspect.signature(function).parameters
    if name in CHECKS
]
NONSENSE = st.one_of(
    st.text(max_size=5).filter(lambda w: w not in ("lowest", "reached", "lbfgs", "adam", "gd")),
    st.binary(max_size=3),
    st.floats(max_value=-1e-6),
    st.sampled_from([np.nan, np.inf, -np.inf, 1e300, 10**30, 1j]),
    st.integers(max_value=-1),
    st.lists(st.none(), min_size=1, max_size=2),
    st.lists(st.text(max_size=3), min_size=1, max_size=2),
    st.dictionaries(st.text(max_size=2), st.none(), min_size=1, max_size=2),
    st.builds(object),
    st.just(np.ones((2, 3, 4))),
    st.just(np.array([np.nan])),
)
LISTS_ACCEPTED = ("scenarios",)


@pytest.mark.parametrize(
    ("function", "name"), ARGUMENTS, ids=lambda part: getattr(part, "__name__", part)
)
@settings(max_examples=60, deadline=2000, suppress_health_check=list(HealthCheck))
@given(wrong=NONSENSE)
def test_nonsense_is_refused_by_name(function, name, wrong):
    if name in LISTS_ACCEPTED and not isinstance(wrong, str | bytes) and hasattr(wrong, "__iter__"):
        return
    if name in ("rtol", "damping", "threshold", "hint", "tolerance", "rate") and (
        isinstance(wrong, float | int) and 1e20 < wrong < np.inf
    ):
        return  # a number all the same
    with pytest.raises(ValueError) as refused:  # noqa: PT011 (the name is checked below)
        function(**{**FUNCTIONS[function], name: wrong})
    message = str(refused.value)
    wanted = ("seed", "seeds") if name == "seeds" else (name,)
    assert message.startswith(tuple(f"{each}:" for each in wanted)), message
    assert "\n" not in message
