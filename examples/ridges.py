# %% [markdown]
# # The ridge of least test error
#
# Test error of both branches against the {term}`ridge` λ, and the minimum that `optimal_ridge`
# finds by derivatives through the fixed point.

# %%
import matplotlib.pyplot as plt
import numpy as np

import dotphase

scenario = dotphase.paper(alpha=2, omega=0.3)
ridges = np.geomspace(0.001, 0.06, 9)
rule = dotphase.Sobol(2**12)
figure, axes = plt.subplots(figsize=(6, 3.5))
for start, colour in (("semantic", "#0072B2"), ("positional", "#D55E00")):
    curve = dotphase.solve_many(
        [scenario.vary(ridge=ridge) for ridge in ridges], start, rule=rule, rtol=None
    )
    there = [
        (r, s.test_error.value, s.test_error.error)
        for r, s in zip(ridges, curve, strict=True)
        if s.mechanism == start
    ]
    axes.errorbar(
        *np.transpose(there)[:2], yerr=np.transpose(there)[2], color=colour, marker=".", label=start
    )
axes.axhline(
    float(dotphase.linear_baseline(scenario).test_error),
    color="black",
    ls="--",
    label="linear baseline",
)
axes.set(xscale="log", xlabel="λ", ylabel="test error")
axes.legend(fontsize=8)
plt.show()

# %%
dotphase.theory.optimal_ridge(scenario, "positional")
