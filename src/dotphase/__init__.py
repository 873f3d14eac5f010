"""dotphase: when does attention learn position, and when does it learn meaning?

One frozen `Scenario` goes, unchanged, to the theory (`solve`), to message passing, to training and to data.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Public names and where they live. They are loaded on first use, so that importing dotphase costs nothing.
_HOMES = {
    "scenario": [
        "Attention",
        "Positions",
        "Scenario",
        "Tokens",
        "constant_attention",
        "isotropic",
        "linear_attention",
        "mixture",
        "no_positions",
        "opposite_positions",
        "paper",
        "positions_from_gram",
        "read_scenario",
        "scenario_from_toml",
        "scenario_to_toml",
        "softmax_attention",
        "write_scenario",
    ],
    "estimate": ["Estimate"],
    "gaussian": ["GaussHermite", "Sobol"],
    "theory": ["Baseline", "Overlaps", "Solution", "SolveError", "linear_baseline", "solve", "solve_many"],
    "theory.curves": ["Branches", "branches"],
    "theory.transitions": ["critical", "critical_line", "phase"],
    "theory.branches": ["find_fixed_points", "follow", "spinodal"],
    "theory.sensitivity": ["optimal_ridge", "sensitivities"],
    "theory.stability": ["stability"],
    "finite": [
        "LBFGS",
        "Adam",
        "GradientDescent",
        "Objective",
        "exact_test_error",
        "fit_linear",
        "gamp",
        "sample",
        "train",
    ],
    "comparison": ["compare"],
    "results": ["Result", "load"],
    "pictures": ["plot"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
__all__ = ["__version__", *sorted(_HOME_OF)]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'dotphase' has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
