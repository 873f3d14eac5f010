"""Learning curves by the direct method: Gaussian fields with two-time covariances, and responses
from derivatives along every path. It shares no code with the modes."""

from functools import lru_cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dotphase import learning_curve, paper
from dotphase.learning import Start

STEPS, SIZE = 6, 2.0


def sample_loss(scenario, h, u):
    """ℓ of one sample of the paper's task, (2,) fields each."""
    softmax = lambda scores: jax.nn.softmax(scores, axis=1)
    mixing = scenario.value_of("mixing")
    A = jnp.array([[0.6, 0.4], [0.4, 0.6]])
    gap = (1 - mixing) * softmax(jnp.outer(u, u)) + mixing * A - softmax(jnp.outer(h, h))
    return 0.5 * scenario.distribution.mean_gamma[0] * (gap**2).sum()


def path(scenario, m, R, w, u):
    """g(0 … t) of one sample, (t + 1, 2), from its Gaussian fields w, (t + 1, 2): h(t) = m(t) + w(t) +
    Σ_{s<t} R(t, s) g(s)."""
    g = []
    for t in range(len(w)):
        h = m[t] + w[t] + sum(R[t, s] * g[s] for s in range(t))
        g.append(-jax.grad(partial(sample_loss, scenario))(h, u))
    return jnp.stack(g)


@lru_cache
def averages(scenario):
    """E[g], Σ_l E[g_l(t) g_l(s)], Σ_l E[dg_l/dw_l], Σ_l E[dg_l/du_l] over samples (w: (N, t + 1, 2), u: (N,
    2)), as a compiled function."""

    def all_of(m, R, w, u):
        one = partial(path, scenario, m, R)
        g = jax.vmap(one)(w, u)
        by_w, by_u = jax.vmap(jax.jacfwd(one, argnums=(0, 1)))(w, u)
        own = jnp.arange(2)
        return (
            g.mean(0),
            jnp.einsum("ntl,nsl->ts", g, g) / len(g),
            by_w.mean(0)[:, own, :, own].sum(0),
            by_u.mean(0)[:, own, own].sum(1),
        )

    return jax.jit(all_of)


def direct(scenario, start, count, seed):
    """q, m, θ of the first steps, (STEPS + 1, 3), on `count` random samples."""
    variance, alpha, ridge = (
        scenario.distribution.gamma[0, 0],
        scenario.sample_ratio,
        scenario.ridge,
    )
    rng = np.random.default_rng(seed)
    u = np.sqrt(variance) * rng.standard_normal((count, 2))
    normal = rng.standard_normal((count, STEPS + 1, 2))
    total = STEPS + 1
    G = np.eye(total)
    teacher, encoding = np.zeros(total), np.zeros(total)  # shares of Q* and √d p_1 in Q
    teacher[0], encoding[0] = start.semantic, start.positional
    scatter = np.zeros((total, total))  # covariance of the force's noise
    signs = np.array([1.0, -1.0])  # p_2 = −p_1
    rows = []
    for t in range(total):
        reached = slice(t + 1)
        pushes = np.concatenate(
            [start.noise * G[reached, :1], SIZE * G[reached, 1 : t + 1]], axis=1
        )
        inner = np.zeros((t + 1, t + 1))
        inner[0, 0] = 1.0
        inner[1:, 1:] = scatter[:t, :t]
        noise = pushes @ inner @ pushes.T + np.outer(encoding[reached], encoding[reached])
        root = np.linalg.cholesky(variance * noise + 1e-13 * np.eye(t + 1))
        w = np.einsum("ts,nsl->ntl", root, normal[:, reached])
        w += teacher[reached, None] * u[:, None]
        rows.append(
            [variance * (noise[t, t] + teacher[t] ** 2), encoding[t], variance * teacher[t]]
        )
        if t == STEPS:
            break
        R = (
            SIZE
            * variance
            * np.array(
                [[G[a, b + 1] if b < a else 0.0 for b in range(t + 1)] for a in range(t + 1)]
            )
        )
        m = encoding[reached, None] * signs
        g, gg, by_w, by_u = map(np.asarray, averages(scenario)(m, R, w, u))
        scatter[: t + 1, : t + 1] = alpha * variance * gg
        K = alpha * variance * by_w[t]  # Σ_l γ K_l(t, s)
        keep = 1 - SIZE * ridge
        G[t + 1, : t + 1] = keep * G[t, : t + 1] + SIZE * K @ G[reached, : t + 1]
        # `teacher` is the part along Q* of all weights, so θ̂ is at fixed w.
        pull = alpha * variance * by_u[t]
        teacher[t + 1] = keep * teacher[t] + SIZE * (pull + K @ teacher[reached])
        pull = alpha * g[t] @ signs
        encoding[t + 1] = keep * encoding[t] + SIZE * (pull + K @ encoding[reached])
    return np.array(rows)


@pytest.mark.parametrize("start", [Start(0.6, 0.3, 0.5), Start(0.0, 0.8, 0.6)])
def test_both_methods_agree(start):
    scenario = paper(alpha=1.3, omega=0.4, sigma=0.9, ridge=0.02)
    with jax.enable_x64(True):
        runs = np.array([direct(scenario, start, 4000, seed) for seed in range(10)])
    mean, error = runs.mean(0), runs.std(0, ddof=1) / np.sqrt(len(runs))
    curve = learning_curve(scenario, start, steps=STEPS, step_size=SIZE, paths=1024, cut=1e-8)
    signed = np.stack(
        [curve.q.value, curve.overlaps.m[:, 0, 0], curve.overlaps.theta[:, 0, 0, 0]], 1
    )
    errors = np.stack([curve.q.error, curve.m.error, curve.theta.error], 1)
    spread = np.hypot(error, errors)[1:]
    moved = spread > 1e-12  # θ stays exactly zero without a share of the teacher
    deviation = (signed - mean)[1:][moved] / spread[moved]
    assert np.abs(deviation).max() < 4
    assert (np.abs(mean[-1] - mean[0]) > 20 * error[-1]).any()  # the weights have moved
