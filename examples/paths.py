# %% [markdown]
# # Paths of training
#
# Adam from small random weights, in the plane of |m| and |θ|: |m| grows first. Stars are the two
# fixed points of the theory, d → ∞.

# %%
import matplotlib.pyplot as plt

import dotphase

scenario = dotphase.paper(alpha=2, omega=0.3)
runs = dotphase.train(scenario, d=200, start="random", optimiser="adam", seeds=6, record=10)

# %%
figure, axes = plt.subplots(figsize=(5, 4))
for run in runs.runs:
    path = run.trajectory.to_pandas()
    axes.plot(path.m, path.theta, lw=1, color="#555555")
    axes.plot(
        path.m.iloc[-1],
        path.theta.iloc[-1],
        "o",
        color="#0072B2" if path.theta.iloc[-1] > path.m.iloc[-1] else "#D55E00",
    )
for start, colour in (("semantic", "#0072B2"), ("positional", "#D55E00")):
    row = dotphase.solve(scenario, start, minimum="reached", rtol=2e-2).to_pandas()
    axes.plot(
        abs(row.m), abs(row.theta), "*", ms=16, color=colour, mec="white", label=f"theory, {start}"
    )
axes.set(xlabel="|m|, overlap with the positions", ylabel="|θ|, overlap with the teacher")
axes.legend(fontsize=8)
plt.show()
