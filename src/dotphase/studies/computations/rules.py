"""`kind = "rules"`: one branch under several rules of the Gaussian average, the published one among
them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from pydantic import field_validator

from ...numerics.rules import GaussHermite, Rule, Sobol
from ...scenario.scenario import Scenario
from ..study.computation import Computation, Point, columns
from ..study.layout import Variable
from ._common import solution_row

PUBLISHED = "published"
NUMBERS = ("q", "V", "m", "theta", "test_error", "train_loss")


class Rules(Computation):
    """The fixed point of `branch` under each of `rules`: "published" (144 nodes, see
    `comparison.published`), "hermite 8" (tensor Gauss–Hermite of that order), "sobol 8192"
    (scrambled Sobol' points of that number).

    Each number has an `_error` where the rule gives one.
    """

    place = "threads"
    kind: Literal["rules"] = "rules"
    branch: Literal["semantic", "positional"] = "positional"
    rules: tuple[str, ...] = (PUBLISHED, "sobol 8192")

    @field_validator("rules")
    @classmethod
    def _known(cls, rules: tuple[str, ...]) -> tuple[str, ...]:
        for name in rules:
            _rule_named(name)
        return rules

    def coordinates(self) -> dict[str, Sequence[Any]]:
        return {"rule": self.rules}

    def variables(self) -> dict[str, Variable]:
        numbers = [*NUMBERS, *(f"{name}_error" for name in NUMBERS), "nodes"]
        return {name: Variable(("rule",)) for name in numbers}

    def compute_point(self, point: Point) -> dict[str, Any]:
        rows = [_row(point.scenario, self.branch, _rule_named(name)) for name in point.own["rule"]]
        return columns(
            [{name: row[name] for name in (*self.variables(), "outcome", "reason")} for row in rows]
        )


def _rule_named(name: str) -> Rule | None:
    """The rule with this name; None for the published one."""
    if name == PUBLISHED:
        return None
    word, _, size = name.partition(" ")
    kinds = {"hermite": GaussHermite, "sobol": Sobol}
    if word not in kinds or not size.isdecimal():
        raise ValueError(f"rules: expected {PUBLISHED}, hermite ORDER or sobol NODES, got {name!r}")
    return kinds[word](int(size))


def _row(scenario: Scenario, branch: str, rule: Rule | None) -> dict[str, Any]:
    return (
        _by_published_method(scenario, branch)
        if rule is None
        else _by_solving(scenario, branch, rule)
    )


def _by_solving(scenario: Scenario, branch: str, rule: Rule) -> dict[str, Any]:
    from ...theory.solver.solve import solve

    found = solve(scenario, branch, rule=rule, rtol=None)
    dimension = scenario.length * sum(scenario.ranks)
    nodes = rule.order**dimension if isinstance(rule, GaussHermite) else found.nodes
    return solution_row(found) | {"nodes": nodes}


def _by_published_method(scenario: Scenario, branch: str) -> dict[str, Any]:
    from ...comparison.published import MOST, NODES, published

    overlaps, errors, iterations = published(scenario, branch)
    q, m, V, theta = np.abs(overlaps)
    row: dict[str, Any] = {
        "q": q,
        "V": V,
        "m": m,
        "theta": theta,
        "test_error": errors[0],
        "train_loss": errors[1],
    }
    row |= {f"{name}_error": np.nan for name in NUMBERS}
    settled = iterations < MOST
    reason = "" if settled else f"still moving after {MOST} iterations"
    return row | {
        "outcome": "converged" if settled else "stalled",
        "reason": reason,
        "nodes": NODES,
    }
