"""Every public function and constructor, called with every kind of nonsense in every argument: it is
refused at once, in one line that begins with the argument's name."""
# pyright: reportArgumentType=false

import inspect
import re
import signal
from contextlib import contextmanager
from pathlib import Path

import jax
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dotphase as dp
from dotphase import (
    attentions,
    bayes,
    comparison,
    counting,
    finite,
    heads,
    learning,
    mechanism,
    results,
    scenario,
    studies,
    text,
    theory,
)
from dotphase.scenario.names import word_of

TASK, RULE = dp.paper(alpha=1, omega=0.3), dp.Sobol(2**6)
SOLUTION = dp.solve(TASK, rule=RULE, rtol=None)
RNG = np.random.default_rng(0)
IDS = RNG.integers(20, size=(60, 5))
SAMPLE = dp.sample(TASK, d=20)
INSTANCE, OBJECTIVE = SAMPLE.instance, finite.Objective(SAMPLE)
WEIGHTS, TWO = np.ones((20, 1)), np.eye(2)
ESTIMATE, NOISY = dp.Estimate(1.0, 0.1), comparison.NoisyStart()
SENTENCES = text.Sentences(RNG.standard_normal((20, 10)), RNG.integers(20, size=(60, 2)))
COUNTING, SHIPPED = counting.CountingTask(), heads.shipped()
EXPERIMENT, KEY = counting.Experiment(seeds=(0,)), jax.random.key(0)
NETWORK = counting.initial_weights(KEY, COUNTING)
RUN = counting.Run(EXPERIMENT, NETWORK, None, None)
PATH = finite.Path(np.arange(3.0), np.ones(3), np.ones((3, 20, 1)), 1.0)
LETTERS = np.zeros((4, 10), int)
SCORES = counting.Scores(ESTIMATE, ESTIMATE, ESTIMATE, ESTIMATE)
MISSING = "/dev/null/at-all"

FUNCTIONS = {
    # what is learned
    **{getattr(attentions, name): {} for name in attentions.__all__},
    attentions.constant: {"positional": TWO},
    attentions.mixture: {"positional": TWO, "mixing": 0.3},
    dp.Attention: {"function": lambda h: h @ h.T, "rank": 1},
    dp.Tokens: {"eigenvalues": [[0.25, 0.25]]},
    dp.Positions: {"components": [[1.0, -1.0]]},
    dp.Positions.from_vectors: {"p": np.ones((2, 5))},
    dp.Scales: {"values": [0.5, 1.5]},
    dp.Scenario: {
        **{name: getattr(TASK, name) for name in ("teacher", "student", "tokens", "positions")},
        **{"sample_ratio": 1.0, "ridge": 0.1},
    },
    dp.paper: {},
    dp.read_scenario: {"path": MISSING},
    dp.write_scenario: {"scenario": TASK, "path": MISSING},
    scenario.scenario_from_toml: {"text": scenario.scenario_to_toml(TASK)},
    scenario.scenario_to_toml: {"scenario": TASK},
    scenario.isotropic: {"length": 2},
    scenario.correlated: {"length": 2},
    scenario.exponential_correlation: {"length": 3, "decay": 0.3},
    scenario.no_positions: {"length": 2},
    scenario.opposite_positions: {},
    scenario.positions_from_gram: {"gram": TWO},
    scenario.in_groups: {
        "tokens": dp.Tokens(np.ones((3, 2))),
        "positions": dp.Positions(np.ones((3, 2))),
        "groups": 2,
    },
    # the theory
    dp.Sobol: {},
    dp.GaussHermite: {},
    dp.SolverOptions: {},
    dp.solve: {"scenario": TASK},
    dp.solve_many: {"scenarios": [TASK]},
    dp.branches: {"scenario": TASK, "values": [1.0]},
    dp.phase: {"scenario": TASK},
    dp.find_fixed_points: {"scenario": TASK},
    dp.critical: {"scenario": TASK},
    dp.linear_baseline: {"scenario": TASK},
    dp.stability: {"solution": SOLUTION},
    theory.follow: {"scenario": TASK, "values": [1.0]},
    theory.spinodal: {"scenario": TASK},
    theory.critical_line: {"scenario": TASK, "transition": "train-loss", "values": [0.3]},
    theory.one_step: {"scenario": TASK},
    theory.one_step_scan: {"scenario": TASK, "start": "positional", "values": [0.0]},
    theory.optimal_ridge: {"scenario": TASK},
    theory.sensitivities: {"solution": SOLUTION},
    theory.iterate: {"scenario": TASK, "start": SOLUTION.overlaps, "steps": 1},
    # finite d
    dp.LBFGS: {},
    dp.Adam: {},
    dp.GradientDescent: {},
    dp.sample: {"scenario": TASK, "d": 20},
    dp.train: {"scenario": TASK, "d": 20},
    dp.gamp: {"scenario": TASK, "d": 20},
    dp.exact_test_error: {"instance": INSTANCE, "weights": WEIGHTS},
    finite.Instance: {"scenario": TASK, "dimension": 20},
    finite.Objective: {"sample": SAMPLE},
    finite.Gamp: {"objective": OBJECTIVE},
    finite.Random: {},
    finite.fit_linear: {"scenario": TASK, "d": 20},
    finite.linear_test_error: {"instance": INSTANCE, "matrix": TWO},
    finite.start_weights: {"instance": INSTANCE, "start": "semantic"},
    finite.lowest_curvatures: {"objective": OBJECTIVE, "weights": WEIGHTS},
    finite.nearest_image: {"objective": OBJECTIVE, "anchor": WEIGHTS, "weights": WEIGHTS},
    finite.relaxed_path: {"objective": OBJECTIVE, "path": PATH},
    finite.straight_path: {"objective": OBJECTIVE, "first": WEIGHTS, "last": WEIGHTS},
    # training in time, and the Bayes-optimal limit
    dp.learning_curve: {"scenario": TASK, "steps": 2},
    learning.Start: {},
    learning.one_pass: {"scenario": TASK},
    learning.simulate: {"scenario": TASK, "d": 20},
    bayes.bayes: {"scenario": TASK},
    bayes.bayes_message_passing: {"scenario": TASK, "d": 20},
    bayes.weak_recovery: {"scenario": TASK},
    # both compared
    dp.compare: {"scenario": TASK, "d": 20},
    comparison.compare_curve: {"scenario": TASK, "d": 20, "steps": 2},
    comparison.NoisyStart: {},
    comparison.examine: {},
    comparison.follow: {"scenario": TASK, "d": 20, "seeds": 1, "start": NOISY},
    comparison.message_passing: {
        **{"scenario": TASK, "d": 20, "start": NOISY, "steps": 1, "seed": 0}
    },
    # results
    dp.Estimate: {"value": 1.0},
    dp.load: {"path": MISSING},
    dp.plot: {"results": [SOLUTION]},
    results.over_seeds: {"values": [1.0, 2.0]},
    results.at_infinite_size: {"sizes": [10, 20], "estimates": [ESTIMATE, ESTIMATE]},
    results.plus_minus: {"value": 1.0, "error": 0.1},
    # text and heads
    text.Sentences: {"embeddings": SENTENCES.embeddings, "ids": SENTENCES.ids},
    text.tokens_from_samples: {"x": SENTENCES},
    text.tokens_from_covariances: {"S": np.stack([np.eye(5)] * 2)},
    text.scenario_of: {"tokens": TASK.tokens},
    text.load_sentences: {"path": MISSING},
    text.read_text: {"dimension": 20},
    text.read_embeddings: {"embeddings": MISSING, "ids": MISSING},
    text.phase_of: {"sentences": SENTENCES},
    text.universality: {"sentences": SENTENCES},
    text.variant: {"sentences": SENTENCES, "name": "shuffled"},
    heads.load: {"file": MISSING},
    heads.read_ids: {"model": SHIPPED},
    heads.measure: {"head": RNG.standard_normal((60, 5, 5)), "sentences": IDS},
    heads.scenario_of: {"head": SHIPPED.only(0), "sentences": IDS},
    mechanism.measure_shares: {"scores": RNG.standard_normal((60, 1, 5, 5)), "ids": IDS},
    mechanism.permutation_scores: {"head": lambda ids: np.zeros((len(ids), 5, 5)), "ids": IDS},
    mechanism.verdict_of: {"position": ESTIMATE, "content": ESTIMATE},
    # counting
    counting.CountingTask: {},
    counting.Recipe: {},
    counting.Surgery: {"mechanism": "free"},
    counting.Experiment: {},
    counting.all_data: {"experiment": EXPERIMENT},
    counting.make_data: {"task": COUNTING, "seed": 0},
    counting.read_sentence: {"sentence": "A" * 10, "task": COUNTING},
    counting.count_letters: {"tokens": LETTERS},
    counting.spell: {"tokens": LETTERS},
    counting.load: {"directory": MISSING},
    counting.train: {"experiment": EXPERIMENT},
    counting.train_from: {"initial": NETWORK, "experiment": EXPERIMENT},
    counting.perform: {"run": RUN},
    counting.operate: {"weights": NETWORK, "mechanism": "free", "key": KEY, "noise": 0.1},
    counting.what_stayed: {"before": RUN, "after": RUN},
    counting.measure: {"weights": NETWORK, "tokens": LETTERS, "mechanism": "free"},
    counting.mean_scores: {"listed": [SCORES]},
    counting.separation: {"a": ESTIMATE, "b": ESTIMATE},
    counting.initial_weights: {"key": KEY, "task": COUNTING},
    counting.attention: {"weights": NETWORK, "tokens": LETTERS},
    counting.logits: {"weights": NETWORK, "tokens": LETTERS},
    counting.scores: {"weights": NETWORK, "tokens": LETTERS},
    counting.fold: {"weights": NETWORK, "mechanism": "free"},
    # studies
    studies.check_study: {"path": MISSING},
    studies.open_study: {"path": MISSING},
    studies.read_study: {"path": MISSING},
    studies.run_study: {"study": {"compute": {"a": {"kind": "baseline"}}}, "path": MISSING},
}
PACKAGES = (dp, attentions, scenario, theory, finite, comparison, text, heads, counting, studies)
PACKAGES += (results, mechanism, bayes, learning)
ANSWERS = """Baseline BayesRuns BayesSolution Branches CommonBasis Comparison CurveComparison Curvature
Decomposition Descent Entry Examination FirstLayer Grams HeadTeacher Heads LearningCurve Lengths
LinearFits MeasuredTokens Messages OnePass OneStep OneStepScan OptimalRidge Overlaps Path Permutation
Phase Recovery Result Run Runs Sample Scores Sensitivity Shares Simulation Solution Stability
TextPhase Threshold Trajectories Trajectory Transition Universality Verdict Weights"""
EXCEPTIONS = {
    **dict.fromkeys(ANSWERS.split(), "an answer, which users read and do not build"),
    **dict.fromkeys(("Mechanism", "Optimiser"), "a type, for annotations"),
    **dict.fromkeys(("SolveError", "RunError"), "an error"),
    **dict.fromkeys(("Study", "Computation"), "read from a file; pydantic names the wrong field"),
    **dict.fromkeys(("Point", "Variable"), "given to a computation of one's own"),
    **dict.fromkeys(
        ("draw_clusters", "draw_comparison", "draw_sizes", "draw_trajectories"),
        "draws what the package has computed",
    ),
    "shipped": "has no arguments",
    "from_transformers": "needs transformers, whose models it asks for their parts",
    "seed_average": "needs a dataset of xarray; tests/results has its errors",
}
WRONG = {  # kinds of nonsense
    "text": st.text(st.characters(codec="utf-8"), max_size=5).filter(lambda w: w not in WORDS),
    "bytes": st.binary(max_size=3),
    "negative": st.one_of(st.floats(-1e9, -1e-6), st.integers(-(10**6), -1)),
    "unbounded": st.sampled_from([np.nan, np.inf, -np.inf]),
    "huge": st.sampled_from([1e300, 10**30]),
    "complex": st.just(1j),
    "list": st.one_of(
        st.lists(st.none(), min_size=1, max_size=2),
        st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, max_size=2),
    ),
    "dict": st.dictionaries(st.text("abc", max_size=2), st.none(), min_size=1, max_size=2),
    "object": st.builds(object),
    "array": st.sampled_from([np.ones((2, 3, 4)), np.zeros((0, 0)), np.array([np.nan])]),
}
WORDS = ("lowest", "reached", "lbfgs", "adam", "gd", "Adam", "sgd", "free")
# What is no nonsense, by the argument's name: a number may be huge, and some may be negative.
HUGE = """alpha rtol tolerance threshold hint rate time step_size ridge sigma sample_ratio temperature
width norm deviation decay until momentum precision scale noise semantic positional response y value
error learning_rate longest first_step shortest_step longest_step longest_move far search_below fresh
added_noise in_sight ridges least_ridge last_excess kept_excess most_kept small_step small_move
rough_residual rough_errors reached_move probe first_responses patience shares bias cut a b sizes
correlation components p tau teacher_weights eigenvalues covariances weights values gram matrix
spread control until tokens keep ys between parameters"""
FILES = "path file files directory embeddings ids config text overrides"
FINE = {
    **dict.fromkeys(HUGE.split(), ("huge",)),
    **dict.fromkeys(("threshold", "norm", "y", "response"), ("huge", "negative")),
    **dict.fromkeys(FILES.split(), ("text",)),  # a file of any name may be there
    (learning.Start, "semantic"): ("huge", "negative"),
    (learning.Start, "positional"): ("huge", "negative"),
    (comparison.NoisyStart, "semantic"): ("huge", "negative"),
    (comparison.NoisyStart, "positional"): ("huge", "negative"),
    (dp.Estimate, "count"): ("huge",),
    (dp.Estimate, "value"): ("huge", "negative", "unbounded", "array"),
    (dp.Estimate, "error"): ("huge", "negative", "unbounded", "array"),
    (results.plus_minus, "value"): ("huge", "negative", "unbounded", "array"),
    (results.plus_minus, "error"): ("huge", "negative", "unbounded", "array"),
    (results.over_seeds, "values"): ("list", "array"),  # None is a seed without an answer
    (dp.Positions, "components"): ("huge", "negative"),
    (dp.plot, "quantity"): ("text",),  # of datasets only
    (dp.Attention, "kind"): ("text",),
    (heads.measure, "words"): ("list",),
    (text.Sentences, "words"): ("list",),
    (text.Sentences, "provenance"): ("dict",),
    (studies.read_study, "overrides"): ("list", "dict"),  # after the file
    (text.read_embeddings, "deviation"): ("huge", "negative"),  # after the file
    (heads.load, "config"): tuple(WRONG),  # after the file
    (dp.Tokens, "covariances"): ("huge", "negative", "array"),  # there are eigenvalues
    (dp.Attention, "parameters"): ("dict",),  # its parameters are named
    (dp.gamp, "response"): ("huge", "negative", "array"),  # of the student's rank
    (scenario.correlated, "correlation"): ("huge", "negative"),  # tokens.covariances are not PSD
    (counting.count_letters, "tokens"): ("array",),
    (counting.spell, "tokens"): ("array",),
    (counting.measure, "tokens"): ("array",),
    (counting.scores, "tokens"): ("array",),
    (studies.run_study, "study"): ("dict",),  # pydantic names the wrong field
    (studies.run_study, "scheduler"): ("text",),  # an address is asked
}
ALIASES = {"deviation": "token_deviation"}


def _public():
    """Public names of a package, as its `.pyi` lists them."""
    for package in PACKAGES:
        listed = Path(package.__file__).with_suffix(".pyi")
        names = (
            re.findall(r" import (\w+) as \1$", listed.read_text(), re.M)
            if listed.exists()
            else package.__all__
        )
        for name in names:
            if not inspect.ismodule(getattr(package, name)):
                yield package.__name__, name, getattr(package, name)


def test_every_public_name_is_tried_or_excepted():
    missing = [
        f"{package}.{name}"
        for package, name, found in _public()
        if callable(found) and found not in FUNCTIONS and name not in EXCEPTIONS
    ]
    assert not missing
    assert not set(EXCEPTIONS) - {name for _, name, _ in _public()}


ARGUMENTS = [
    (function, name)
    for function in FUNCTIONS
    for name, argument in inspect.signature(function).parameters.items()
    if set(WRONG) - set(FINE.get((function, name), ()))
    and argument.kind not in (argument.VAR_KEYWORD, argument.VAR_POSITIONAL)
]


class TooSlow(BaseException):
    pass


@contextmanager
def bounded():
    """What starts to compute instead of refusing is stopped after twenty seconds of processor time."""

    def stop(*_):
        raise TooSlow

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, 20)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def complaint(function, name, wrong):
    """What is wrong with how `function` refuses `wrong` as `name`; None where it does it well."""
    try:
        with bounded():
            function(**{**FUNCTIONS[function], name: wrong})
    except (ValueError, TypeError) as refused:
        message = str(refused)
        names = {name, word_of(name), name.removesuffix("s"), ALIASES.get(name, name)}
        named = re.match(rf"(\w+\.)?({'|'.join(names)})(\.\w+)?: ", message)
        return None if named and "\n" not in message else f"{type(refused).__name__}: {message}"
    except TooSlow:
        return "starts to compute"
    except Exception as other:  # the complaint says which
        return f"{type(other).__name__}: {other}"
    return "accepted"


@pytest.mark.parametrize(
    ("function", "name"), ARGUMENTS, ids=lambda part: getattr(part, "__qualname__", part)
)
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(data=st.data())
def test_nonsense_is_refused_by_name(function, name, data):
    fine = FINE.get((function, name), FINE.get(name, ()))
    wrong = data.draw(st.one_of(*(each for kind, each in WRONG.items() if kind not in fine)))
    assert not complaint(function, name, wrong)
