# %% [markdown]
# # A small phase diagram
#
# A study over α and ω: blue where the semantic mechanism has the lower training loss, orange where
# the positional one has. `dotphase phase-diagram` makes a larger one.

# %%
from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt
from matplotlib.colors import LinearSegmentedColormap

import dotphase

study = dotphase.studies.Study.model_validate(
    {
        "name": "a small phase diagram",
        "axes": {"omega": {"linspace": [0.05, 0.45, 5]}, "alpha": {"linspace": [0.4, 2.0, 9]}},
        "compute": {"theory": {"kind": "theory", "nodes": 2048, "follow": "alpha"}},
    }
)
dataset = dotphase.studies.run_study(study, Path(mkdtemp()) / "plane.zarr", workers=1).load()

# %%
margin = dataset["theory_margin"]
largest = float(abs(margin).max())
colours = LinearSegmentedColormap.from_list("mechanisms", ["#0072B2", "white", "#D55E00"])
figure, axes = plt.subplots(figsize=(5, 4))
shown = axes.pcolormesh(
    margin.omega, margin.alpha, margin.T, cmap=colours, vmin=-largest, vmax=largest
)
figure.colorbar(shown, label="training loss, semantic − positional")
axes.set(xlabel="ω, how positional the teacher is", ylabel="α = n/d, how much data there is")
for sign, name, colour in ((1, "positional", "#D55E00"), (-1, "semantic", "#0072B2")):
    wins = (sign * margin > 2 * dataset["theory_margin_error"]).stack(point=("omega", "alpha"))
    there = wins.where(wins, drop=True)
    axes.plot(there.omega, there.alpha, ".", color=colour, mec="white", ms=9, label=f"{name} wins")
axes.legend(loc="upper left", fontsize=8)
plt.show()
