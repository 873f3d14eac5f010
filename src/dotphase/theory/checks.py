"""What the theory refuses before anything is computed."""

from __future__ import annotations

from typing import Any

from ..gaussian import Rule, Sobol
from ..scenario.scenario import Scenario


def check_scenario(scenario: Any) -> None:
    """Refuse what is no scenario."""
    if not isinstance(scenario, Scenario):
        raise ValueError(f"scenario: expected a Scenario, such as dotphase.paper(), got {type(scenario).__name__}")


def check_nodes(rule: Rule, budget: int) -> None:
    """Refuse a budget that the first nodes exceed."""
    if isinstance(rule, Sobol) and not budget >= rule.count:
        raise ValueError(f"budget: {budget} nodes do not allow the first rule, which has {rule.count}")


def check_precision(rtol: float | None, tolerance: float, most_evaluations: int) -> None:
    """Refuse a precision that nothing can have."""
    for name, value in (("rtol", rtol), ("tolerance", tolerance)):
        if value is not None and not value > 0:
            raise ValueError(f"{name}: must be positive, got {value!r}")
    if most_evaluations < 1:
        raise ValueError(f"most_evaluations: at least one is needed, got {most_evaluations}")
