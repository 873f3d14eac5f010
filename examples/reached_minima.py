# %% [markdown]
# # The lowest and the reached minimum of one sample
#
# The inner energy of one sample of the positional branch, with its field w (cross) and its lowest
# minimum (star). The signal of the sample (square) lies in the other basin, and training ends
# there.

# %%
import matplotlib.pyplot as plt
import numpy as np

import dotphase
from dotphase.theory.stability.one_sample import samples

BLUE, ORANGE = "#0072B2", "#D55E00"
solution = dotphase.solve(
    dotphase.paper(alpha=2, omega=0.3),
    "positional",
    minimum="reached",
    rule=dotphase.Sobol(2**15),
    rtol=None,
)
known = samples(solution)
chosen = known.only(np.flatnonzero(known.higher)[:1])
low, reached, w, start = (
    array[:, 0, 0] for array in (chosen.lowest, chosen.reached, chosen.w, chosen.start)
)

# %%
edge = 1.45 * max(np.abs(low).max(), np.abs(reached).max(), np.abs(w).max())
axis = np.linspace(-edge, edge, 161)
grid = np.array(np.meshgrid(axis, axis))
height = chosen.energy(grid.reshape(2, 1, -1)).reshape(161, 161)
figure, axes = plt.subplots(figsize=(6, 6.6))
levels = height.min() + (np.quantile(height, 0.85) - height.min()) * np.linspace(0, 1, 22) ** 2
axes.contourf(grid[0], grid[1], height, levels, cmap="Greys", alpha=0.75)
axes.contour(grid[0], grid[1], height, levels, colors="white", linewidths=0.4)
axes.plot(*chosen.path()[:, :, 0, 0].T, color=ORANGE, lw=2, label="the flow that training follows")
axes.plot(*start, "s", color=ORANGE, ms=8, label=r"signal part of its field, $E[w\,|\,u]$")
axes.plot(*reached, "o", color=ORANGE, ms=11, mec="white", label="minimum that training reaches")
axes.plot(*low, "*", color=BLUE, ms=17, mec="white", label="lowest minimum")
axes.plot(*w, "x", color="black", ms=9, mew=2, label="its field $w$")
axes.set(
    xlabel="$z_1$, the first token's field",
    ylabel="$z_2$, the second token's field",
    aspect="equal",
)
figure.legend(loc="lower center", ncols=2, fontsize=9, frameon=False)
figure.subplots_adjust(bottom=0.2)
plt.show()

# %%
gap = chosen.energy(chosen.reached)[0] - chosen.energy(chosen.lowest)[0]
print(
    f"the reached minimum is {gap:.2g} above the lowest; {solution.higher_minima:.2%} of samples sit like this"
)
