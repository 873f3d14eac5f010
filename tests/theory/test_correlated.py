"""Correlated tokens and tokens of random length in the theory: the joint group of
fields and its coordinates, symmetries, both minima, and what becomes of a solution."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dotphase import (
    Overlaps,
    Positions,
    Scales,
    Scenario,
    Sobol,
    Tokens,
    attentions,
    load,
    paper,
    solve,
)
from dotphase.bayes.limit import bayes
from dotphase.learning.online.one_pass import one_pass
from dotphase.numerics.precision import in_double
from dotphase.overlaps.coordinates import factors, from_coordinates, to_coordinates
from dotphase.overlaps.correlated import (
    exponential,
    group,
    grouped,
    half_log,
    inverse_root,
    root,
    single,
)
from dotphase.overlaps.symmetric import coordinate_action, invariant_basis, stabiliser
from dotphase.scenario import correlated, exponential_correlation, isotropic
from dotphase.scenario.attentions.symmetry import symmetries
from dotphase.theory import one_step, sensitivities
from dotphase.theory.solver.starts import start
from dotphase.theory.state_evolution.evaluator import evaluator_of
from dotphase.theory.state_evolution.half_steps import compiled_evaluate

RULE = Sobol(2**13)
TWO = Scales(np.sqrt([0.4, 1.6]))
A3 = [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]]


def chain(rank=1, scales=None):
    """Three tokens in a row, correlated with their neighbours."""
    tokens = replace(correlated(3, 0.5, exponential_correlation(3, 0.3)), scales=scales)
    return Scenario(
        attentions.mixture(A3, 0.3),
        attentions.softmax(rank),
        tokens,
        Positions([[1.0, 0.0, -1.0]]),
        2.0,
        0.01,
    )


def two_kinds(rank=2):
    tokens = Tokens(
        covariances=[[[0.3, 0.1], [0.1, 0.2]], [[0.2, -0.1], [-0.1, 0.4]]], weights=[0.4, 0.6]
    )
    positions = Positions([[1.0, -1.0], [0.5, 0.2]])
    return replace(
        paper(2.0, 0.3), tokens=tokens, positions=positions, student=attentions.softmax(rank)
    )


def as_one_group(scenario):
    """A scenario of uncorrelated tokens, treated as one whose tokens are correlated with
    correlation zero."""
    forced = replace(scenario)
    distribution = forced.distribution._replace(
        Gamma=forced.distribution.gamma[:, :, None] * np.eye(forced.length)
    )
    structure = replace(forced.structure, joint=True)
    forced.__dict__.update(distribution=distribution, structure=structure)
    return forced


ALSO = pytest.mark.slow


@pytest.mark.parametrize(
    ("minimum", "scales"),
    [
        ("lowest", None),
        ("reached", TWO),
        pytest.param("reached", None, marks=ALSO),
        pytest.param("lowest", TWO, marks=ALSO),
    ],
)
@pytest.mark.parametrize("branch", ["semantic", "positional"])
def test_correlation_zero_gives_what_single_tokens_give(branch, minimum, scales):
    scenario = paper(2.0, 0.3)
    scenario = scenario.vary(tokens=replace(scenario.tokens, scales=scales))
    both = (scenario, as_one_group(scenario))
    one, other = (solve(each, branch, rule=RULE, rtol=None, minimum=minimum) for each in both)
    assert one.outcome == other.outcome
    assert one.joint is None
    if one.outcome == "collapsed":  # where nodes jump to and fro two ways may end at different ones
        return
    for mine, theirs in zip(
        (*one.overlaps, *one.conjugates), (*other.overlaps, *other.conjugates), strict=True
    ):
        np.testing.assert_allclose(mine, theirs, rtol=1e-8, atol=1e-10)
    assert one.test_error.value == pytest.approx(other.test_error.value, abs=1e-10)
    assert one.train_loss.value == pytest.approx(other.train_loss.value, abs=1e-10)
    assert one.test_error.error == pytest.approx(other.test_error.error, rel=1e-5)
    assert np.abs(other.joint.overlaps.q[0, 1]).max() < 1e-12


@in_double
def test_functions_of_matrices_and_their_slopes_hold_at_equal_eigenvalues():
    rng = np.random.default_rng(0)
    half = rng.normal(size=(3, 3))
    spread, turn = half @ half.T + 0.5 * np.eye(3), rng.normal(size=(3, 3))
    along = turn + turn.T
    for matrix in (
        spread,
        2.0 * np.eye(3),
        np.diag([1.0, 1.0, 3.0]),
        np.diag([1.0, 1.0 + 1e-9, 3.0]),
    ):
        C = np.asarray(root(matrix))
        np.testing.assert_allclose(C @ C, matrix, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(C @ inverse_root(matrix), np.eye(3), atol=1e-12)
        np.testing.assert_allclose(
            exponential(2 * half_log(matrix)), matrix, rtol=1e-11, atol=1e-12
        )
        for function in (root, inverse_root, half_log, exponential):
            slope = np.asarray(jax.jvp(function, (jnp.asarray(matrix),), (jnp.asarray(along),))[1])
            of = lambda h, f=function, x=matrix: np.asarray(f(x + h * along))
            difference = lambda h, of=of: (of(h) - of(-h)) / (2 * h)
            precise = (4 * difference(1e-4) - difference(2e-4)) / 3
            np.testing.assert_allclose(slope, precise, rtol=1e-7, atol=1e-7 * np.abs(precise).max())


@in_double
@pytest.mark.parametrize("scenario", [two_kinds(), chain()])
def test_coordinates_of_joint_overlaps_are_undone(scenario):
    rho, rank = scenario.distribution.joint_rho, scenario.student.rank
    for name in ("semantic", "positional", "uninformed"):
        overlaps = start(scenario, name)
        x = np.asarray(to_coordinates(overlaps, rho))
        for one, other in zip(overlaps, from_coordinates(x, rho, rank), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
        f = factors(x, rho, rank)
        np.testing.assert_allclose(f.C @ f.psi, grouped(overlaps.theta), atol=1e-12)
        u_covariance = np.swapaxes(f.psi, 1, 2) @ f.psi + f.K @ np.swapaxes(f.K, 1, 2)
        np.testing.assert_allclose(u_covariance, grouped(rho), rtol=1e-10, atol=1e-12)
    assert not np.isfinite(to_coordinates(overlaps._replace(q=-overlaps.q), rho)).all()


@in_double
def test_exchanging_tokens_permutes_coordinates_and_fields():
    """The trap of triangular roots: here a permutation of tokens is a signed permutation of
    coordinates, exactly."""
    scenario = chain(rank=2)
    shape, rho = scenario.structure.shape, scenario.distribution.joint_rho
    x = np.asarray(to_coordinates(start(scenario, "semantic"), rho))
    x = x + 0.2 * np.random.default_rng(1).normal(size=x.shape)
    here = Overlaps(*map(np.asarray, from_coordinates(x, rho, 2)))
    for g in symmetries(scenario):
        there = from_coordinates(coordinate_action(g, shape) @ x, rho, 2)
        order, s, t = list(g.order), np.array(g.student), np.array(g.teacher)
        turned = here.q[order][:, order] * np.outer(s, s)
        np.testing.assert_allclose(there.q, turned, rtol=1e-10, atol=1e-13)
        np.testing.assert_allclose(
            there.theta, here.theta[order][:, order] * np.outer(s, t), rtol=1e-10, atol=1e-13
        )
        np.testing.assert_allclose(there.m, here.m[order] * s, atol=1e-13)
    assert len({g.order for g in symmetries(scenario)}) == 2


def pair(scales=None):
    """The paper's two tokens, correlated: exchanging them is a symmetry."""
    return paper(2.0, 0.3).vary(tokens=replace(correlated(2, 0.5, 0.3), scales=scales))


SYMMETRIC = [
    pair(),
    pair(TWO),
    pytest.param(chain(), marks=ALSO),
    pytest.param(chain(scales=Scales([[1, 2, 1], [2, 1, 2]], [0.3, 0.7])), marks=ALSO),
]


@pytest.mark.parametrize("scenario", SYMMETRIC)
@pytest.mark.parametrize("branch", ["semantic", "positional"])
def test_the_fundamental_domain_gives_what_the_whole_orbit_gives(branch, scenario):
    group_, overlaps = symmetries(scenario), start(scenario, branch)

    @in_double
    def compare():
        x = np.asarray(to_coordinates(overlaps, scenario.distribution.joint_rho))
        part = evaluator_of(scenario, Sobol(2**12), group_, stabiliser(group_, overlaps))
        whole = evaluator_of(scenario, Sobol(2**12), group_, group_[:1])
        minima, every = part.search(x), whole.search(x)
        return part.basis, part(x, minima), whole.basis, whole(x, every._replace(blur=minima.blur))

    basis, part, all_basis, whole = compare()
    assert len(part.change) < len(whole.change)
    np.testing.assert_allclose(
        basis.T @ part.change, all_basis.T @ whole.change, rtol=1e-7, atol=1e-9
    )
    np.testing.assert_allclose(part.observables, whole.observables, rtol=1e-9)


@pytest.mark.slow
def test_what_vanishes_by_symmetry_vanishes_exactly():
    found = solve(chain(), "semantic", rule=RULE, rtol=None)
    assert found.ok
    assert (found.overlaps.m == 0).all()
    q = found.joint.overlaps.q[..., 0, 0]
    np.testing.assert_allclose(q, q[::-1, ::-1], rtol=1e-12)
    np.testing.assert_allclose(
        q / q[0, 0], exponential_correlation(3, 0.3), rtol=1e-7
    )  # one group of directions
    assert invariant_basis(symmetries(chain()), chain().structure.shape).shape[1] == 24


@pytest.mark.parametrize("scenario", [pair(TWO), pytest.param(two_kinds(), marks=ALSO)])
@in_double
def test_slopes_of_the_averages_are_their_differences(scenario):
    rule, group_ = Sobol(2**10, seed=1), symmetries(scenario)
    evaluator, rng = evaluator_of(scenario, rule, group_, group_[:1]), np.random.default_rng(0)
    begin = start(scenario, "semantic")
    x = np.asarray(to_coordinates(begin._replace(V=30 * begin.V), scenario.distribution.joint_rho))
    x = x + 0.1 * rng.normal(size=x.shape)
    known = evaluator(x, evaluator.search(x)).minima
    assert known.several > 0.01  # so that rivals take part
    block, minima, directions = (
        evaluator.ensemble.blocks[0],
        known.blocks[0],
        rng.normal(size=(3, len(x))),
    )
    run = compiled_evaluate(scenario.structure)
    evaluated = lambda at: run(evaluator.values, at, directions, block, minima, 10 * known.blur)
    slopes, step = np.asarray(evaluated(x).slopes), 1e-6
    pooled = lambda at: rule.pool @ np.asarray(evaluated(at).moments)
    for direction, slope in zip(directions, slopes, strict=True):
        difference = lambda h, d=direction: (pooled(x + h * d) - pooled(x - h * d)) / (2 * h)
        precise = (4 * difference(step) - difference(2 * step)) / 3
        assert np.abs(slope - precise).max() < 1e-6 * np.abs(precise).max()


@pytest.fixture(scope="module")
def scaled():
    scenario = paper(2.0, 0.3)
    return scenario.vary(tokens=replace(scenario.tokens, scales=TWO))


def test_random_scales_agree_with_an_independent_computation(scaled):
    """Values of a prototype of its own: s² = 1 ∓ 0.6, reached minima; value and error."""
    known = {
        "semantic": {"q": (0.1079, 0.0002), "theta": (0.1497, 0.0002)},
        "positional": {
            "q": (0.0746, 0.0006),
            "m": (0.2254, 0.0023),
            "train_loss": (0.00444, 0.00002),
        },
    }
    for branch, numbers in known.items():
        found = solve(scaled, branch, rule=Sobol(2**15), rtol=None, minimum="reached")
        assert found.ok
        for name, (value, error) in numbers.items():
            mine = getattr(found, name)
            assert abs(mine.value - value) < 3.5 * np.hypot(error, mine.error), (branch, name)


def test_the_global_prox_is_far_off_where_lengths_differ(scaled):
    """The lowest minima lose the positional branch here, which training keeps."""
    lowest = solve(scaled, "positional", rule=RULE, rtol=None)
    assert lowest.m.value < 0.15


def test_tensor_rules_take_every_combination_of_scales(scaled):
    from dotphase import GaussHermite

    wide = scaled.vary(alpha=4.0, ridge=0.1)
    exact, random = (
        solve(wide, "semantic", rule=rule, rtol=None) for rule in (GaussHermite(10), Sobol(2**14))
    )
    assert exact.ok
    assert (
        abs(exact.train_loss.value - random.train_loss.value)
        < 4 * random.train_loss.error + exact.train_loss.error
    )


def test_a_joint_solution_is_kept_shown_and_a_start(tmp_path):
    scenario = paper(2.0, 0.3).vary(tokens=correlated(2, 0.5, -0.3))
    found = solve(scenario, "semantic", rule=RULE, rtol=None)
    assert found.ok
    assert found.overlaps.q.shape == (2, 1, 1)
    assert found.state is found.joint.overlaps
    np.testing.assert_array_equal(single(found.state).q, found.overlaps.q)
    found.save(tmp_path / "joint.dotphase")
    assert load(tmp_path / "joint.dotphase") == found
    assert np.shape(found.to_dict()["joint"]["overlaps"]["q"]) == (2, 2, 1, 1)
    assert found.to_xarray()["q_joint"].dims == ("token", "token_", "column", "column_")
    for begin in (found, found.state, found.overlaps):
        again = solve(scenario, begin, rule=RULE, rtol=None)
        assert again.test_error.value == pytest.approx(found.test_error.value, rel=1e-6)
    plain = solve(
        paper(2.0, 0.3), found, rule=RULE, rtol=None
    )  # and of the scenario without correlation
    assert plain.ok
    assert plain.joint is None
    back = solve(scenario, plain, rule=RULE, rtol=None)
    assert back.test_error.value == pytest.approx(found.test_error.value, rel=1e-6)
    with pytest.raises(ValueError, match=r"start\.q: expected shape"):
        solve(scenario, Overlaps(found.state.q[:1], *found.state[1:]))


def test_stability_and_sensitivities_of_a_joint_scaled_solution():
    tokens = replace(correlated(2, 0.5, 0.3), scales=TWO)
    found = solve(paper(2.0, 0.3).vary(tokens=tokens), "semantic", rule=RULE, rtol=None)
    assert found.ok
    assert found.stability.branch == "stable"
    assert 0 < found.stability.replicon.value < 1
    slope = sensitivities(found, ["sample_ratio"], RULE)["sample_ratio"].test_error
    up, down = (
        solve(found.scenario.vary(alpha=alpha), found, rule=RULE, rtol=None) for alpha in (2.1, 1.9)
    )
    difference = (up.test_error.value - down.test_error.value) / 0.2
    error = float(RULE.error(up.deviations.test_error - down.deviations.test_error)) / 0.2
    assert abs(slope.value - difference) < 4 * np.hypot(error, slope.error) + 0.02 * abs(difference)


def test_rooms_without_equations_for_it_say_so(scaled):
    joint = paper(2.0, 0.3).vary(tokens=correlated(2, 0.5, 0.3))
    for scenario, name in ((scaled, "random scales"), (joint, "correlated tokens")):
        for refuse in (
            lambda s: bayes(s),
            lambda s: one_step(s, "positional"),
            lambda s: one_pass(s),
        ):
            with pytest.raises(ValueError, match=f"no equations for {name}"):
                refuse(scenario)


def test_groups_are_what_blocks_say():
    overlaps = start(two_kinds(), "semantic")
    q, _, m, theta = group(overlaps)
    assert q.shape == (1, 4, 4)
    assert m.shape == (1, 4)
    np.testing.assert_array_equal(q[0, :2, 2:], overlaps.q[0, 1])
    np.testing.assert_array_equal(theta[0, 2:, :1], overlaps.theta[1, 0])
    assert isotropic(2).joint is False
