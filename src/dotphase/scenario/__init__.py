"""What is learned: teachers, students, tokens, positions, and the scenario that holds them together."""

from .attention import Attention
from .catalogue import constant_attention, linear_attention, mixture, softmax_attention
from .files import read_scenario, scenario_from_toml, scenario_to_toml, write_scenario
from .presets import paper
from .scales import Scales
from .scenario import Scenario
from .tokens import (
    Positions,
    Tokens,
    correlated,
    exponential_correlation,
    isotropic,
    no_positions,
    opposite_positions,
    positions_from_gram,
)

__all__ = [
    "Attention",
    "Positions",
    "Scales",
    "Scenario",
    "Tokens",
    "constant_attention",
    "correlated",
    "exponential_correlation",
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
]
