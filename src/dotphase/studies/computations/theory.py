"""Branches of the theory as d → ∞ (`theory`), and students with both mechanisms at once (`mixed`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from ...scenario.scenario import Scenario
from ..study.computation import Computation, Point, columns
from ..study.layout import Variable
from ._common import BREAKING, breaking_row, solution_row

if TYPE_CHECKING:
    from ...theory.branches.rows import Found

NUMBERS = (
    *("test_error", "test_error_error", "train_loss", "train_loss_error", "q", "V", "m", "theta"),
    *("q_error", "V_error", "m_error", "theta_error"),
    *("several_minima", "residual", "evaluations", "nodes", "seconds"),
)
WORDS = ("outcome", "reason", "mechanism")


class Theory(Computation):
    """Fixed points of the theory, per branch; q, m, theta are averages over tokens, as in
    `Solution` and in training.

    - `branches`: the starts.
    - `nodes`: of the Gaussian average; `rtol`: refine them until test error and training loss are
      this precise, up to `budget` nodes; `seed`: of the scrambling.
    - `follow`: an axis; branches are followed along it, and a unit of work is a whole row.
    - `stability`: also how far replica symmetry holds, as in `kind = "stability"`; "winner": on the
      branch of lower training loss only, or on both where that is undecided.
    - `minimum`: the inner minimum z* of each sample, "lowest" or "reached", as in
      `dotphase.solve`.
    - `batch`: points in a unit of work, without `follow`.

    With both a semantic and a positional branch there are also:

    - `margin` = ε_t(semantic) − ε_t(positional), with its error.
    - `winner`, the mechanism of lowest training loss: "undecided" if the losses differ by less than
      two errors, "unknown" if a solve stalled. If there is a mixed branch too, the lowest branch has
      to be a minimum; the winner is "unknown" where it is a saddle.
    """

    place: ClassVar[str] = "processes"
    growing: ClassVar[tuple[str, ...]] = ("branches",)

    kind: Literal["theory"] = "theory"
    branches: tuple[Literal["semantic", "positional", "mixed", "uninformed"], ...] = (
        "semantic",
        "positional",
    )
    nodes: int = Field(2**13, ge=64)
    rtol: float | None = Field(None, gt=0)
    budget: int = Field(2**17, ge=64)
    seed: int = Field(0, ge=0)
    follow: str | None = None
    stability: bool | Literal["winner"] = False
    minimum: Literal["lowest", "reached"] = "lowest"
    batch: int = Field(8, ge=1)

    @model_validator(mode="after")
    def _one_precision(self) -> Theory:
        if self.follow is not None and self.rtol is not None:
            raise ValueError(
                "rtol: a branch that is followed has the same nodes everywhere: give `nodes` instead"
            )
        return self

    @property
    def separable(self) -> bool:
        return self.follow is None

    def check(self, scenario: Scenario, axes: Sequence[str]) -> None:
        if self.follow is not None and self.follow not in self.depends_on(axes, scenario):
            raise ValueError(f"follow: {self.follow!r} is not an axis of the study")

    def coordinates(self) -> dict[str, Sequence[Any]]:
        return {"branch": self.branches}

    def variables(self) -> dict[str, Variable]:
        stable = (
            [f"{name}{error}" for name in BREAKING for error in ("", "_error")]
            if self.stability
            else []
        )
        found = {name: Variable(("branch",)) for name in (*NUMBERS, *stable)}
        found |= {
            name: Variable(("branch",), "str")
            for name in (*WORDS, *(["symmetry"] if self.stability else []))
        }
        if self._compares:
            found |= {
                "margin": Variable(),
                "margin_error": Variable(),
                "winner": Variable((), "str"),
            }
        return found

    @property
    def _compares(self) -> bool:
        return {"semantic", "positional"} <= set(self.branches)

    def unit(self, axes: Sequence[str]) -> dict[str, int | None]:
        if self.follow is not None:
            return {self.follow: None}
        return {axes[-1]: self.batch} if axes else {}

    def compute(self, points: Sequence[Point]) -> dict[str, Any]:
        from ...numerics.rules import Sobol

        rule = Sobol(self.nodes, seed=self.seed)
        row = self._solved([point.scenario for point in points], rule, points)
        against = [self._against(several) for several in row]
        judged = [self._judged(margin, winner) for margin, _, winner in against]
        entries = lambda several, those: [
            self._entries(found, branch in those)
            for branch, found in zip(self.branches, several, strict=True)
        ]
        arrays = columns([columns(entries(*place)) for place in zip(row, judged, strict=True)])
        if self._compares:
            margins = zip(*against, strict=True)
            arrays |= dict(
                zip(("margin", "margin_error", "winner"), map(list, margins), strict=True)
            )
        return arrays

    def _against(self, several: list[Found]) -> tuple[float, float, str]:
        from ...theory.branches.phases import margin_between
        from ...theory.branches.rows import winner_among

        if not self._compares:
            return np.nan, np.inf, "unknown"
        semantic, positional = (
            several[self.branches.index(name)] for name in ("semantic", "positional")
        )
        margin = margin_between(positional.solution, semantic.solution)
        known = semantic.line is not None and positional.line is not None
        error = float(margin.error) if known else np.inf
        winner = winner_among(several, saddles="mixed" in self.branches)
        return float(margin.value), error, winner

    def _judged(self, margin: float, winner: str) -> Sequence[str]:
        """The branches whose replica symmetry is computed."""
        if self.stability != "winner" or winner in ("undecided", "unknown"):
            return self.branches if self.stability else ()
        if winner in self.branches:
            return (winner,)
        return ("semantic" if margin < 0 else "positional",)

    def _solved(
        self, places: list[Scenario], rule: Any, points: Sequence[Point]
    ) -> list[list[Found]]:
        from ...theory.branches.rows import solve_afresh, solve_row

        if self.follow is None:
            options: Any = {"rtol": self.rtol, "budget": self.budget, "minimum": self.minimum}
            options["around"] = self.stability or self._compares
            return [
                [solve_afresh(place, branch, rule, **options) for branch in self.branches]
                for place in places
            ]
        order = np.argsort([point.values[self.follow] for point in points], kind="stable")
        row = solve_row([places[k] for k in order], self.branches, rule, self.minimum)
        return [row[k] for k in np.argsort(order)]

    def _entries(self, found: Found, judged: bool) -> dict[str, Any]:
        from ...theory.branches.rows import breaking_at

        row = solution_row(found.solution)
        return row | breaking_row(breaking_at(found) if judged else None) if self.stability else row


class Mixed(Computation):
    """Solved from the mixed start; m and theta are sizes, ‖m_1‖ and ‖θ_1‖. As α grows, θ can set in
    continuously: `mechanism` says what the fixed point has.

    - `nodes`: of the Gaussian average; `seed`: of the scrambling.
    """

    place: ClassVar[str] = "threads"

    kind: Literal["mixed"] = "mixed"
    nodes: int = Field(2**13, ge=64)
    seed: int = Field(0, ge=0)

    def check(self, scenario: Scenario, axes: Sequence[str]) -> None:
        if scenario.ranks[0] < 2:
            raise ValueError("kind: a mixed start needs a student of rank two or more")

    def variables(self) -> dict[str, Variable]:
        numbers = ("test_error", "train_loss", "m", "theta")
        names = (*numbers, *(f"{name}_error" for name in numbers), "residual", "evaluations")
        return {name: Variable() for name in names} | {"mechanism": Variable((), "str")}

    def compute_point(self, point: Point) -> dict[str, Any]:
        from ...numerics.rules import Sobol
        from ...theory.solver.solve import solve

        rule = Sobol(self.nodes, seed=self.seed)
        found = solve(point.scenario, "mixed", rule=rule, rtol=None)
        row = solution_row(found)
        for name in ("m", "theta"):
            value, error = getattr(found.overlaps, name)[0], getattr(found.overlap_errors, name)[0]
            row |= {
                name: float(np.linalg.norm(value)),
                f"{name}_error": float(np.linalg.norm(error)),
            }
        return row
