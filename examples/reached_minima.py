"""One sample's inner landscape, and where the lowest and the reached minimum are in it.

python examples/reached_minima.py [--out reached-minima.png]
"""

import argparse

import numpy as np
from matplotlib.figure import Figure

import dotphase
from dotphase.theory.one_sample import samples

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#555555"


def draw(path: str) -> None:
    solution = dotphase.solve(
        dotphase.paper(alpha=2, omega=0.3), "positional", minimum="reached", rule=dotphase.Sobol(2**15), rtol=None
    )
    known = samples(solution)
    chosen = known.only(np.flatnonzero(known.higher)[:1])
    low, reached, w, start = (array[:, 0, 0] for array in (chosen.lowest, chosen.reached, chosen.w, chosen.start))
    edge = 1.45 * max(np.abs(low).max(), np.abs(reached).max(), np.abs(w).max())
    axis = np.linspace(-edge, edge, 161)
    grid = np.array(np.meshgrid(axis, axis))
    height = chosen.energy(grid.reshape(2, 1, -1)).reshape(161, 161)
    figure = Figure(figsize=(6.4, 7.4))
    axes = figure.add_subplot()
    floor = height.min()
    levels = floor + (np.quantile(height, 0.85) - floor) * np.linspace(0, 1, 22) ** 2
    axes.contourf(grid[0], grid[1], height, levels, cmap="Greys", alpha=0.75)
    axes.contour(grid[0], grid[1], height, levels, colors="white", linewidths=0.4)
    way = chosen.path()[:, :, 0, 0]
    axes.plot(*way.T, color=ORANGE, lw=2, label="the flow that training follows")
    axes.plot(*start, "s", color=ORANGE, ms=8, label=r"signal part of its field, $E[w\,|\,u]$")
    axes.plot(*reached, "o", color=ORANGE, ms=11, mec="white", label="minimum that training reaches")
    axes.plot(*low, "*", color=BLUE, ms=17, mec="white", label="lowest minimum")
    axes.plot(*w, "x", color="black", ms=9, mew=2, label="its field $w$")
    axes.set_xlabel("$z_1$, the first token's field")
    axes.set_ylabel("$z_2$, the second token's field")
    gap = chosen.energy(chosen.reached)[0] - chosen.energy(chosen.lowest)[0]
    axes.set_title(
        f"One sample, positional branch, α = 2, ω = 0.3:\nreached minimum {gap:.2g} above the lowest "
        f"({solution.higher_minima:.2%} of samples sit like this)",
        fontsize=11,
    )
    axes.set_aspect("equal")
    figure.legend(loc="upper center", bbox_to_anchor=(0.5, 0.06), ncols=2, fontsize=9, frameon=False)
    figure.savefig(path, dpi=130, bbox_inches="tight")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="reached-minima.png")
    draw(parser.parse_args().out)
