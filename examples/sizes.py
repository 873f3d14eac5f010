# %% [markdown]
# # The effect of d
#
# Test errors after training against 1/d, from both starts, and the theory of reached minima at
# 1/d = 0.

# %%
import matplotlib.pyplot as plt

import dotphase

scenario = dotphase.paper(alpha=1.25, omega=0.3)
sizes = {100: 16, 200: 12, 400: 8}
figure, axes = plt.subplots(figsize=(6, 3.5))
for start, colour in (("semantic", "#0072B2"), ("positional", "#D55E00")):
    trained = {
        d: dotphase.train(scenario, d, start, seeds=seeds).adjusted("test_error")
        for d, seeds in sizes.items()
    }
    means, errors = [e.value for e in trained.values()], [e.error for e in trained.values()]
    axes.errorbar(
        [1 / d for d in trained],
        means,
        errors,
        fmt="o",
        color=colour,
        capsize=3,
        label=f"trained, {start}",
    )
    theory = dotphase.solve(scenario, start, minimum="reached", rtol=1e-2).test_error
    axes.errorbar([0], [theory.value], [theory.error], fmt="*", ms=14, color=colour, mec="white")
axes.set(xlabel="1/d", ylabel="test error", xlim=(-0.0005, 0.011))
axes.legend(fontsize=8)
plt.show()
