"""What the theory refuses before anything is computed."""

from __future__ import annotations

from dataclasses import replace

from ...numerics.extras import free_memory
from ...numerics.rules import Rule, Sobol
from ...numerics.threads import available_cores
from ...scenario.checks import is_scale_free
from ...scenario.scenario import Scenario
from ..state_evolution.nodes import BLOCK


def check_minimum(scenario: Scenario) -> None:
    """Refuse a scenario whose loss has no minimum."""
    if scenario.ridge > 0 and is_scale_free(scenario.student, scenario.length):
        raise ValueError(
            "student: S[ch] = S[h] for every c > 0, so that smaller weights cost less ridge and predict the same: "
            "the loss has no minimum; set ridge=0 or let S depend on the size of its fields"
        )


def check_nodes(rule: Rule, budget: int) -> None:
    """Refuse a budget that the first nodes exceed."""
    if isinstance(rule, Sobol) and not budget >= rule.count:
        raise ValueError(
            f"budget: {budget} nodes do not allow the first rule, which has {rule.count}"
        )


def memory_needed(scenario: Scenario, rule: Rule) -> int:
    """Bytes that a solve takes at most, about: its nodes and their minima, and what is worked on
    block by block.

    A block of N nodes has, per thread, some ten arrays of (D + K) D N numbers, D = L r_s fields and
    K coordinates; of all nodes there are their ξ, η, their fields, minima and rivals.
    """
    programs = 4 * 10**8  # bytes of libraries and compiled programs, measured
    arrays = 10  # alive at once while a block is worked on, as large as the largest
    length, (r_s, r_t) = scenario.length, scenario.ranks
    count = rule.count if isinstance(rule, Sobol) else rule.nodes(length * (r_s + r_t)).weights.size
    fields, coordinates = length * r_s, length * (r_s * (r_s + 1) + r_s + r_s * r_t)
    working = available_cores() * arrays * (fields + coordinates) * fields * BLOCK
    return 8 * (count * length * (4 * r_s + 2 * r_t) + working) + programs


def beyond_memory(scenario: Scenario, rule: Rule) -> str:
    """Why these nodes do not fit into the free memory; empty if they do."""
    needed, free = memory_needed(scenario, rule), free_memory()
    if needed <= free:
        return ""
    gigabytes = lambda count: f"{count / 1e9:.3g} GB"
    nodes = f"{rule.count} nodes" if isinstance(rule, Sobol) else "these nodes"
    return (
        f"{nodes} of {scenario.length} tokens and rank {scenario.ranks[0]} take "
        f"{gigabytes(needed)} of memory, {gigabytes(free)} are free"
    )


def most_that_fit(scenario: Scenario, asked: Sobol, more_than: int) -> Sobol | None:
    """The nodes that are asked for, halved until they fit into the free memory; None if only
    `more_than` nodes or fewer do."""
    while asked.count > more_than and beyond_memory(scenario, asked):
        asked = replace(asked, count=asked.count // 2)
    return asked if asked.count > more_than else None


def check_memory(scenario: Scenario, rule: Rule) -> None:
    """Refuse nodes that take more memory than there is."""
    reason = beyond_memory(scenario, rule)
    if reason:
        raise ValueError(f"rule: {reason}; take fewer nodes, a lower rank or fewer tokens")
