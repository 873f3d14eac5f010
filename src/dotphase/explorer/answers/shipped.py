"""Data files of the explorer: the default phase diagram, and two transformers that count.

These commands compute them and copy them into the package:

    dotphase phase-diagram --alphas 0.1:3:30 --omegas 0:0.5:21 --out RUN/diagram
    dotphase counting train --letters 26 --seeds 1 --epochs 200 --mechanism semantic --out RUN/semantic
    dotphase counting train --letters 26 --seeds 1 --epochs 200 --mechanism positional --out RUN/positional
    python -m dotphase.explorer.answers.shipped RUN

which also locates the lines. Each file says where it comes from.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray

DATA = Path(__file__).parents[1] / "data"
DIAGRAM, COUNTERS = DATA / "diagram.json", DATA / "counters.npz"
TABLES = DATA / "tables.json"  # written by `tables.py`
MECHANISMS = ("semantic", "positional")


def main(run: Path) -> None:
    """Copy the results in the folder `run` into the package."""
    DATA.mkdir(exist_ok=True)
    if all((run / mechanism).is_dir() for mechanism in MECHANISMS):
        np.savez_compressed(COUNTERS, allow_pickle=False, **counters(run))
    store = run / "diagram" / "phase-diagram.zarr"
    if store.is_dir():
        import xarray

        with xarray.open_zarr(store) as dataset:
            diagram = diagram_of(dataset.load())
        diagram["lines"] = lines(diagram["omega"])
        DIAGRAM.write_text(json.dumps(diagram, separators=(",", ":")) + "\n", encoding="utf-8")


def counters(run: Path) -> dict[str, np.ndarray]:
    """The weights of both mechanisms' first seed in half precision, and the experiment that
    produced them."""
    from ...counting import load
    from ...counting.summary import seed_weights, summarise

    arrays: dict[str, np.ndarray] = {}
    description: dict[str, Any] = {}
    for mechanism in MECHANISMS:
        found = load(run / mechanism)
        named = seed_weights(found, 0)._asdict()
        arrays |= {
            f"{mechanism}.{name}": np.asarray(array).astype(np.float16)
            for name, array in named.items()
        }
        accuracy = round(float(summarise(found).accuracy.value), 5)
        description[mechanism] = {
            "experiment": found.experiment.to_dict(),
            "validation_accuracy": accuracy,
        }
    return arrays | {"provenance": np.array(json.dumps(description | versions()))}


def diagram_of(dataset: xarray.Dataset) -> dict[str, Any]:
    """What the page draws of the dataset of a phase diagram: ω × α tables, and lines with errors."""
    from ...figures.paper.phase_diagram import broken
    from ...results.json import plain

    grid = dataset.transpose("omega", "alpha", ...)
    rounded = lambda table: [
        [None if x is None else float(f"{x:.5g}") for x in row] for row in plain(table)
    ]
    return {
        "omega": plain(grid["omega"].values.round(6)),
        "alpha": plain(grid["alpha"].values.round(6)),
        "margin": rounded(grid["theory_margin"].values),
        "winner": [list(map(str, row)) for row in grid["theory_winner"].values],
        "broken": broken(grid).values.astype(bool).tolist(),
        "missing": {
            branch: (grid["theory_outcome"].sel(branch=branch) == "collapsed").values.tolist()
            for branch in MECHANISMS
        },
        "provenance": {**{key: str(value) for key, value in dataset.attrs.items()}, **versions()},
    }


def lines(omegas: list[float]) -> dict[str, Any]:
    """For each ω, the α of both crossings and of the end of each branch; beyond the map too, so that
    no line ends before its edge."""
    from ...numerics.rules import Sobol
    from ...scenario.presets import paper
    from ...theory.branches.transitions import critical_line

    options: dict[str, Any] = {"between": (0.2, 4.0), "precision": 0.01, "rule": Sobol(2**13)}
    wanted: dict[str, dict[str, Any]] = {"train-loss": {}, "linear": {}} | {
        f"spinodal-{branch}": {"start": branch} for branch in MECHANISMS
    }
    rounded = lambda numbers: [float(f"{number:.5g}") for number in numbers]
    found = {}
    for name, more in wanted.items():
        transition = "spinodal" if more else name
        located = critical_line(paper(), transition, omegas, **options, **more)
        ends = [
            (omega, end.location)
            for omega, end in zip(omegas, located, strict=True)
            if end.outcome != "absent" and np.isfinite(end.location.value)
        ]
        found[name] = {
            "omega": rounded(omega for omega, _ in ends),
            "alpha": rounded(at.value for _, at in ends),
            "error": rounded(at.error for _, at in ends),
        }
    return found


def versions() -> dict[str, str]:
    """Versions of the packages that computed the data."""
    from importlib.metadata import version

    from ... import __version__

    return {"dotphase": __version__, **{name: version(name) for name in ("jax", "numpy", "scipy")}}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
