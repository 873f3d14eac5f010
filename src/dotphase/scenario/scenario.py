"""The scenario: everything that defines what is learned, from what, and with how many samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .arguments import checked
from .attentions.attention import Attention, Form
from .checks import check_attention
from .distribution import Distribution, distribution_of
from .names import ALIASES as ALIASES
from .names import spelled_as, word_of
from .tokens import Positions, Tokens
from .validation import finite_number, freeze, thaw

NUMBERS = ("sample_ratio", "ridge")
PARTS = ("teacher", "student", "tokens", "positions", "teacher_weights", "dimension")


@dataclass(frozen=True)
class Structure:
    """What has to be compiled anew: shapes and functions. Scenarios of one structure differ in
    numbers only.

    `joint`: tokens are correlated; `scaled`: tokens have random scales; `sized`: d is finite.
    """

    length: int
    student: Form
    teacher: Form
    direction_groups: int
    joint: bool = False
    scaled: bool = False
    sized: bool = False

    @property
    def shape(self) -> tuple[int, int, int]:
        """Groups of fields that are jointly Gaussian, and how many fields of student and teacher
        each has.

        (L, r_s, r_t), every token on its own, or (1, L r_s, L r_t) for correlated tokens.
        """
        length, r_s, r_t = self.length, self.student.rank, self.teacher.rank
        return (1, length * r_s, length * r_t) if self.joint else (length, r_s, r_t)


@checked
@dataclass(frozen=True, repr=False)
class Scenario:
    """One learning problem; the same object goes to the theory, to message passing, to training and
    to data.

    A sentence is x ∈ R^{L×d} with rows x_l ~ N(0, Σ_l). The teacher answers y = T[xQ*/√d] x; the
    student, who sees x̃ = x + p, answers S[x̃Q/√d] x̃ and minimises Σ_μ ‖y^μ − f_Q(x^μ)‖²/(2d) +
    (λ/2)‖Q‖² over n = αd samples.

    **Arguments**

    - `teacher`: T, an `Attention` of rank r_t.
    - `student`: S, an `Attention` of rank r_s.
    - `tokens`: the spectra of the Σ_l.
    - `positions`: the encodings p_l.
    - `sample_ratio`: α = n/d.
    - `ridge`: λ.
    - `teacher_weights`: π = Q*·e along each group of directions, (K, r_t); independent N(0, I) unless
      given.
    - `dimension`: a finite d, at which the theory adds the term ½ Tr[S p pᵀ Sᵀ]/d to the loss
      (`solve(…, d=…)`); d → ∞ unless given.

    **Example**: `paper(alpha=2, omega=0.3).vary(ridge=0.1)`, or with parts of one's own:

        Scenario(attentions.mixture(A, 0.3), attentions.softmax(1), isotropic(2, 0.5), opposite_positions(), 2.0, 0.01)
    """

    teacher: Attention
    student: Attention
    tokens: Tokens
    positions: Positions
    sample_ratio: float
    ridge: float
    teacher_weights: ArrayLike | None = None
    dimension: int | None = None

    def __post_init__(self) -> None:
        ratio = finite_number("sample_ratio", self.sample_ratio, above=True)
        object.__setattr__(self, "sample_ratio", ratio)
        if self.teacher_weights is not None:
            object.__setattr__(
                self, "teacher_weights", freeze("teacher_weights", self.teacher_weights, ndim=2)
            )
        _check_table(self)
        for role in ("teacher", "student"):
            check_attention(role, getattr(self, role), self.length)
        if "mixing" in self.teacher.parameters:
            finite_number("mixing", self.teacher.values["mixing"], most=1)

    @property
    def length(self) -> int:
        """L, the number of tokens."""
        return self.tokens.gamma.shape[1]

    @property
    def ranks(self) -> tuple[int, int]:
        """(r_s, r_t)."""
        return self.student.rank, self.teacher.rank

    @cached_property
    def distribution(self) -> Distribution:
        """ν, the joint distribution of (γ, τ, π), as far as the theory needs it."""
        return distribution_of(self.tokens, self.positions, self.teacher.rank, self._pi)

    @property
    def _pi(self) -> np.ndarray | None:
        return None if self.teacher_weights is None else thaw(self.teacher_weights)  # type: ignore[arg-type]

    @cached_property
    def structure(self) -> Structure:
        tokens, directions = self.tokens, len(self.distribution.weight)
        scaled = tokens.scales is not None
        sized = self.dimension is not None
        return Structure(
            self.length,
            self.student.form,
            self.teacher.form,
            directions,
            tokens.joint,
            scaled,
            sized,
        )

    @property
    def values(self) -> dict[str, Any]:
        """All numbers of the scenario, as a tree of arrays: what may vary over a grid without a new
        compilation."""
        return {
            "sample_ratio": np.float64(self.sample_ratio),
            "ridge": np.float64(self.ridge),
            "student": self.student.values,
            "teacher": self.teacher.values,
            "distribution": self.distribution._asdict(),
            "gram": None if self.dimension is None else self.distribution.gram / self.dimension,
        }

    def vary(self, **changes: Any) -> Scenario:
        """The same scenario with other numbers: `sample_ratio`, `ridge`, `token_deviation`,
        `mixing` or any other parameter of the teacher or the student by name; also by the paper's
        letters (`alpha`, `omega`, `sigma`). Or with other parts: `tokens`, `positions`, `student`,
        …, all at once.

            scenario.vary(sample_ratio=1.5, mixing=0.2)
        """
        scenario, parameters = self, (*self.teacher.parameters, *self.student.parameters)
        given = spelled_as((*NUMBERS, *PARTS, *parameters, "token_deviation"), changes)
        own = {name: given.pop(name) for name in (*PARTS, *NUMBERS) if name in given}
        scenario = replace(scenario, **own) if own else scenario
        for name, value in given.items():
            if name == "token_deviation":
                change: dict[str, Any] = {"tokens": scenario.tokens.scaled_to(value)}
            else:
                change = _with_parameter(scenario, name, value)
            scenario = replace(scenario, **change)
        return scenario

    def value_of(self, name: str) -> float:
        """The present value of a number that `vary` can change."""
        name = word_of(name)
        if name == "token_deviation":
            return self.tokens.deviation
        if name in NUMBERS:
            return getattr(self, name)
        for attention in (self.teacher, self.student):
            if name in attention.parameters:
                value = attention.values[name]
                if value.ndim:
                    raise ValueError(f"{name}: an array, not a number of this scenario")
                return float(value)
        raise ValueError(f"{name}: not a number of this scenario")

    @property
    def headline(self) -> str:
        return f"scenario: {self.length} tokens, student rank {self.ranks[0]}, teacher rank {self.ranks[1]}"

    def _parts(self) -> dict[str, str]:
        gram = np.array2string(self.distribution.gram, precision=4, threshold=16)
        return {
            "teacher": str(self.teacher),
            "student": str(self.student),
            "tokens": self.tokens.described,
            "positions": f"p·p' = {gram.replace(chr(10), '')}",
            "sample_ratio α": f"{self.sample_ratio:.6g}",
            "ridge λ": f"{self.ridge:.6g}",
        }

    def __str__(self) -> str:
        return "\n".join(
            [self.headline, *(f"  {name:<15}{text}" for name, text in self._parts().items())]
        )

    def __repr__(self) -> str:
        numbers = (
            f"α = {self.sample_ratio:.6g}, λ = {self.ridge:.6g}, σ = {self.tokens.deviation:.6g}"
        )
        return f"Scenario({self.length} tokens, {self.student.kind} learns {self.teacher.kind}, {numbers})"

    def _repr_html_(self) -> str:
        from ..results.tables import html_table

        return html_table(self.headline, [self._parts()])


def _check_table(scenario: Scenario) -> None:
    gamma, tau, pi = scenario.tokens.gamma, scenario.positions.tau, scenario._pi
    if tau.shape[1] != scenario.length:
        raise ValueError(
            f"positions: for {tau.shape[1]} tokens, but the tokens are {scenario.length}{_as_vectors(tau, scenario)}"
        )
    rows = {"tokens": len(gamma), "positions": len(tau)} | (
        {} if pi is None else {"teacher_weights": len(pi)}
    )
    if len({count for count in rows.values() if count > 1}) > 1:
        listed = ", ".join(f"{name} {count}" for name, count in rows.items())
        raise ValueError(f"positions: groups of directions do not match ({listed})")
    if len(tau) > len(gamma) and len(gamma) > 1:
        raise ValueError(
            f"positions: {len(tau)} rows, but the tokens have {len(gamma)} groups of directions"
        )
    if pi is not None and pi.shape[1] != scenario.teacher.rank:
        raise ValueError(
            f"teacher_weights: expected {scenario.teacher.rank} columns, got {pi.shape[1]}"
        )
    if (np.linalg.eigvalsh(scenario.distribution.rho)[:, 0] <= 0).any():
        raise ValueError(
            "teacher_weights: ρ_l = ⟨γ_l π πᵀ⟩ must be positive definite for every token"
        )
    if scenario.tokens.joint:
        rho = np.swapaxes(scenario.distribution.joint_rho, 1, 2)
        values = np.linalg.eigvalsh(rho.reshape(rho.shape[0] * rho.shape[1], -1))
        if values[0] <= 1e-9 * values[-1]:
            raise ValueError("tokens.covariances: remove the tokens that are copies of one another")


def _as_vectors(tau: np.ndarray, scenario: Scenario) -> str:
    """A remark where encodings seem to be vectors, (L, d)."""
    vectors = len(tau) == scenario.length
    return "; vectors p of shape (L, d) are Positions.from_vectors(p)" if vectors else ""


def _with_parameter(scenario: Scenario, name: str, value: Any) -> dict[str, Attention]:
    owners = [role for role in ("teacher", "student") if name in getattr(scenario, role).parameters]
    if not owners:
        known = sorted({*scenario.teacher.parameters, *scenario.student.parameters})
        raise ValueError(
            f"{name}: not a number of this scenario; it has "
            f"{', '.join(['alpha', 'lambda', 'sigma', *known])}"
        )
    if len(owners) > 1:
        raise ValueError(
            f"{name}: both teacher and student have it; vary `teacher` or `student` as a whole"
        )
    return {owners[0]: getattr(scenario, owners[0]).with_parameters(**{name: value})}
