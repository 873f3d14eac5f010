"""What is learned: teachers, students, tokens, positions, and the scenario that holds them together."""

from .attention import Attention
from .catalogue import (
    causal_attention,
    constant_attention,
    heads_attention,
    kernel_attention,
    linear_attention,
    mixture,
    relative_attention,
    relu_attention,
    sigmoid_attention,
    sink_attention,
    softmax_attention,
    tempered_attention,
)
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
    "causal_attention",
    "constant_attention",
    "correlated",
    "exponential_correlation",
    "heads_attention",
    "isotropic",
    "kernel_attention",
    "linear_attention",
    "mixture",
    "no_positions",
    "opposite_positions",
    "paper",
    "positions_from_gram",
    "read_scenario",
    "relative_attention",
    "relu_attention",
    "scenario_from_toml",
    "scenario_to_toml",
    "sigmoid_attention",
    "sink_attention",
    "softmax_attention",
    "tempered_attention",
    "write_scenario",
]
