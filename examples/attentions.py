# %% [markdown]
# # What another attention would learn
#
# The same teacher and the same tokens, five students: softmax, untied softmax, a causal one, a kernel that decays with
# the distance of fields, and linear attention. Test error of the semantic branch, {term}`reached` minima, beside the
# linear positional baseline.

# %%
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

import dotphase


def causal(h):
    scores = h @ h.T
    return jax.nn.softmax(jnp.where(jnp.tril(jnp.ones(scores.shape, bool)), scores, -1e9), axis=1)


def kernel(h, width):
    weights = jnp.exp(-((h[:, None] - h[None]) ** 2).sum(-1) / (2 * width**2))
    return weights / weights.sum(1, keepdims=True)


students = {
    "softmax": dotphase.softmax_attention(1),
    "untied softmax": dotphase.softmax_attention(1, tied=False),
    "causal": dotphase.Attention(causal, 1),
    "kernel, width 0.8": dotphase.Attention(kernel, 1, {"width": 0.8}),
    "linear": dotphase.linear_attention(1),
}
scenario = dotphase.paper(alpha=2, omega=0.3)
rule = dotphase.Sobol(2**11)
found = {
    name: dotphase.solve(scenario.vary(student=student), "semantic", minimum="reached", rule=rule, rtol=None)
    for name, student in students.items()
}

# %%
baseline = dotphase.linear_baseline(scenario).test_error
figure, axes = plt.subplots(figsize=(6, 3))
for at, solution in enumerate(found.values()):
    if solution.outcome in ("converged", "imprecise"):
        axes.errorbar(
            float(solution.test_error), at, xerr=solution.test_error.error, fmt="o", color="#0072B2", capsize=3
        )
    else:
        axes.text(float(baseline), at, f"  {solution.outcome}", va="center")
axes.axvline(float(baseline), color="black", ls="--", label="linear positional baseline")
axes.set_yticks(range(len(found)), list(found))
axes.set_xlabel("test error of the semantic mechanism, α = 2, ω = 0.3")
axes.legend(fontsize=8)
figure.tight_layout()
plt.show()
