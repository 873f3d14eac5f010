"""A film of a path through the phase diagram: `dotphase explore --out film.gif` (or `.mp4`).

The number of samples goes down and up again at one ω. At the left the point moves over the map; at
the right a network is a ball that keeps to its own solution, and falls where that ends.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..figures.frame.style import diverging
from ..plotting.quick import in_style
from ..plotting.style import COLOURS, panels
from .answers.shipped import DIAGRAM, TABLES
from .answers.tables import ALPHAS, BRANCHES, OMEGAS, decoded

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SECONDS, RATE = 15, 10  # how long the film is, and its pictures per second
OMEGA = 0.3


def check_film(path: Path) -> None:
    """Refuse a name that cannot be written, before anything is drawn."""
    if path.suffix not in (".gif", ".mp4"):
        raise ValueError(f"--out: expected a name that ends in .gif or .mp4, got {path.name!r}")
    if path.suffix == ".mp4" and shutil.which("ffmpeg") is None:
        raise ValueError("--out: an .mp4 needs ffmpeg, which was not found; give a .gif")
    if not path.parent.is_dir():
        raise ValueError(f"--out: there is no folder {path.parent}")


@in_style
def write_film(path: Path, seconds: float = SECONDS) -> int:
    """Write the film; returns the number of its pictures."""
    from matplotlib.animation import FFMpegWriter, PillowWriter

    check_film(path)
    figure, axes = panels(1, 2, 3.4, 8.0)
    moves = [_map(axes[0, 0]), _curves(axes[0, 1])]
    alphas = 1.65 + 1.25 * np.cos(np.linspace(0, 2 * np.pi, round(seconds * RATE)))
    writer = (PillowWriter if path.suffix == ".gif" else FFMpegWriter)(fps=RATE)
    with writer.saving(figure, str(path), dpi=90):
        for alpha in alphas:
            for move in moves:
                move(float(alpha))
            writer.grab_frame()
    if path.suffix == ".gif":
        _fewer_colours(path)
    return len(alphas)


def _fewer_colours(path: Path) -> None:
    """A quarter of the bytes: few colours are enough for two pictures of lines and shades. All
    frames share them, and those of the two mechanisms are among them."""
    from matplotlib.colors import to_rgb
    from PIL import Image, ImageSequence

    with Image.open(path) as film:
        shown = [(f.convert("RGB"), f.info["duration"]) for f in ImageSequence.Iterator(film)]
    frames, pauses = zip(*shown, strict=True)
    kept = [round(255 * part) for name in BRANCHES for part in to_rgb(COLOURS[name])]
    palette = Image.new("P", (1, 1))
    palette.putpalette(kept + (frames[0].quantize(30).getpalette() or [])[: 3 * 30])
    first, *others = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    first.save(path, save_all=True, append_images=others, duration=list(pauses), loop=0)


def _map(axis: Axes) -> Callable[[float], None]:
    """The map with the point on it; returns what moves the point."""
    diagram = json.loads(DIAGRAM.read_text(encoding="utf-8"))
    margin = np.array([[np.nan if x is None else x for x in row] for row in diagram["margin"]])
    axis.pcolormesh(diagram["omega"], diagram["alpha"], np.cbrt(margin.T), cmap=diverging(), vmin=-0.2,
                    vmax=0.2, shading="nearest")  # fmt: skip
    line = diagram["lines"]["train-loss"]
    axis.plot(line["omega"], line["alpha"], color="black", lw=2)
    axis.set(xlabel=r"how positional the teacher is, $\omega$", ylabel=r"samples $\alpha = n/d$")
    axis.set(title="which solution is best", ylim=(0.1, 3))
    (ring,) = axis.plot([], [], "o", ms=12, mfc="white", mec="black", mew=2)
    return lambda alpha: ring.set_data([OMEGA], [alpha])


def _curves(axis: Axes) -> Callable[[float], None]:
    """Loss per example of both solutions, with the ball on one of them; returns what moves it."""
    tables = json.loads(TABLES.read_text(encoding="utf-8"))
    wanted = {"student": "softmax", "sigma": 0.5, "lambda": 0.01, "minimum": "lowest"}
    plane = next(p for p in tables["planes"] if wanted.items() <= p.items())
    losses = decoded(plane)[:, 0, OMEGAS.index(OMEGA)] / np.array(ALPHAS)
    for branch, loss in zip(BRANCHES, losses, strict=True):
        axis.plot(ALPHAS, 1000 * loss, color=COLOURS[branch], lw=2.5, label=branch)
    axis.set(xlabel=r"samples $\alpha$", ylabel=r"$1000\,\epsilon_t/\alpha$", xlim=(0.3, 3))
    axis.set(title="where a network stays")
    axis.legend()
    (ball,) = axis.plot([], [], "o", ms=13, mec="black", mew=1.5)
    return _Ball(ball, losses)


class _Ball:
    """A ball that keeps to its branch as long as that exists."""

    def __init__(self, drawn: Any, losses: np.ndarray) -> None:
        self.drawn, self.losses, self.branch = drawn, losses, 0

    def __call__(self, alpha: float) -> None:
        here = [float(np.interp(alpha, ALPHAS, loss)) for loss in self.losses]
        if np.isnan(here[self.branch]):
            self.branch = 1 - self.branch
        self.drawn.set_data([alpha], [1000 * here[self.branch]])
        self.drawn.set_color(COLOURS[BRANCHES[self.branch]])
        self.drawn.set_markeredgecolor("black")
