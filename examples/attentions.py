# %% [markdown]
# # Other students
#
# The same teacher and the same tokens, with three students: softmax, causal softmax, and linear
# attention. The picture shows the test error of both branches and of the best position-only
# predictor. Another student is one more line.

# %%
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

import dotphase


def causal(h):
    scores = h @ h.T
    return jax.nn.softmax(jnp.where(jnp.tril(jnp.ones(scores.shape, bool)), scores, -1e9), axis=1)


students = {
    "softmax": dotphase.attentions.softmax(1),
    "causal softmax": dotphase.Attention(causal, 1),
    "linear": dotphase.attentions.linear(1),
}
scenario = dotphase.paper(alpha=2, omega=0.3)
found = {
    (name, start): dotphase.solve(
        scenario.vary(student=student), start, rule=dotphase.Sobol(2**12), rtol=None
    )
    for name, student in students.items()
    for start in ("semantic", "positional")
}

# %%
baseline = float(dotphase.linear_baseline(scenario).test_error)
figure, axes = plt.subplots(figsize=(6.5, 3))
for (name, start), solution in found.items():
    at, colour = list(students).index(name), {"semantic": "#0072B2", "positional": "#D55E00"}[start]
    error, there = solution.test_error, solution.mechanism == start
    shown = {"fmt": "o" if there else "x", "color": colour if there else "#555555", "capsize": 3}
    axes.errorbar(float(error), at, xerr=error.error, **shown, label=None if at else start)
axes.axvline(baseline, color="black", ls="--", label="linear baseline")
axes.set_yticks(range(len(students)), list(students))
axes.set(
    xlabel="test error, α = 2, ω = 0.3 (grey: the branch is not there)",
    ylim=(-0.5, 2.5),
    xscale="log",
)
axes.legend(fontsize=8)
figure.tight_layout()
plt.show()
