"""Attentions by name: teachers and students for a `Scenario`, such as
`dotphase.attentions.softmax(rank=2)`."""

from .scenario.attentions.catalogue import (
    causal,
    constant,
    heads,
    kernel,
    linear,
    mixture,
    relative,
    relu,
    sigmoid,
    sink,
    softmax,
    tempered,
)

__all__ = [
    "causal",
    "constant",
    "heads",
    "kernel",
    "linear",
    "mixture",
    "relative",
    "relu",
    "sigmoid",
    "sink",
    "softmax",
    "tempered",
]
