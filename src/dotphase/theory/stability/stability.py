"""Is a solution stable? Two questions: the replicon's, and the branch's own.

*Replicon.* Replica symmetry is locally stable iff the spectral radius of this linear map on Δ =
{Δ_l} is below one:

    Δ_l ↦ ⟨γ_l R (Σ_κ γ_κ α E[(J diag(Δ) Jᵀ)_κκ]) R⟩,   J = ∂g/∂w = −(1 + ∇²ℓ V)⁻¹ ∇²ℓ at z*,

R = (λ + Σ_κ γ_κ V̂_κ)⁻¹. This is the regular part: where the prox jumps, ∂g/∂w has a singular part
that the formula does not see, and the symmetry is broken. How much, Δ/q, is worked out in
`breaking.py`.

*Branch.* The eigenvalues μ of ∂map/∂x in all directions, those that break the solution's symmetries
included. Each is named after the overlap its direction has most of: at the positional point, where
θ = 0, the one named θ tells whether an infinitesimal semantic signal grows. Re μ > 1 grows however
much the iteration is damped; μ < −1 makes only the plain iteration oscillate.

Replicate r has its own Jacobian J_r at its own fixed point. With left and right eigenvectors y and
v of the pooled one, y·v = 1, its eigenvalue is μ_r = μ + y·(J_r − J)v to first order, and the error
of μ is their scatter.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from ...inner.minima import Lowest
from ...numerics.rules import Rule
from ...overlaps.correlated import grouped
from ...overlaps.overlaps import Overlaps, coordinate_layout
from ...overlaps.symmetric import response_action
from ...results.estimate import Estimate
from ...results.json import plain
from ...results.result import Result
from ...scenario.arguments import checked
from ..solver.solution import Solution
from .breaking import SURE, WIDTH, Breaking, Variance, at_jumps, breaking_of, deviation
from .linearised import Linearised, linearise
from .spectra import Spectra, spectra

PARTS = Overlaps._fields
LETTERS = {"theta": "θ"}
NULL = 1e-9


class Eigenvalue(NamedTuple):
    """An eigenvalue μ of ∂map/∂x, its standard error, how far each replicate's lies from it, (R,),
    and its direction in the coordinates of the overlaps."""

    value: complex
    error: float
    deviations: np.ndarray
    direction: np.ndarray

    @property
    def growth(self) -> Estimate:
        """Re μ ± error: above one, a deviation in this direction grows."""
        return Estimate(self.value.real, self.error)

    def __str__(self) -> str:
        turning = f" ± {abs(self.value.imag):.2g}i" if abs(self.value.imag) > 1e-9 else ""
        return f"{self.growth}{turning}"


@dataclass(frozen=True, repr=False, eq=False)
class Stability(Result):
    """How stable a solution is.

    - `replicon`: the spectral radius, regular part; `several_minima`: the share of samples whose
      prox may jump; `breaking`: what its jumps do to replica symmetry.
    - `eigenvalues`: of ∂map/∂x along each of q, V, m, θ (absent where none is named after it), the
      one of largest modulus: it says how the plain iteration moves.
    - `leading`: likewise the one of largest real part: it says whether the branch is stable.
    - `growing`: all whose real part is above one, or within two errors of it, the largest first.
    """

    eigenvalues: dict[str, Eigenvalue]
    leading: dict[str, Eigenvalue]
    breaking: Breaking
    growing: tuple[Eigenvalue, ...] = ()

    @property
    def replicon(self) -> Estimate:
        return self.breaking.regular

    @property
    def several_minima(self) -> float:
        return self.breaking.several

    @property
    def verdict(self) -> str:
        """Of the branch, and of replica symmetry: two things."""
        return f"{self.branch}; {self.symmetry}"

    @property
    def symmetry(self) -> str:
        """How far replica symmetry holds, as `Breaking.verdict` says."""
        return self.breaking.verdict

    @property
    def branch(self) -> str:
        """`stable`, `unstable along …`, or `undecided along …` where one is within two errors."""
        growths = {LETTERS.get(part, part): at.growth for part, at in self.leading.items()}
        unstable = [name for name, at in growths.items() if at.value - SURE * at.error > 1]
        unsure = [name for name, at in growths.items() if abs(at.value - 1) <= SURE * at.error]
        if unstable:
            return f"unstable along {', '.join(unstable)}"
        return f"undecided along {', '.join(unsure)}" if unsure else "stable"

    @property
    def is_saddle(self) -> bool:
        """Whether a deviation grows in some direction: no minimum of the loss then."""
        return any(at.value.real - SURE * at.error > 1 for at in self.leading.values())

    @property
    def caveats(self) -> tuple[str, ...]:
        each = {"the branch is": self.branch, "replica symmetry is": self.symmetry}
        good = ("stable", "replica symmetric")
        return tuple(f"{of} {word}" for of, word in each.items() if word not in good)

    @property
    def shown(self) -> dict[str, Eigenvalue]:
        """By letter: the leading eigenvalue where it makes the branch unstable, else the one of
        largest modulus."""
        telling = lambda part: (
            self.leading[part] if self.leading[part].value.real > 1 else self.eigenvalues[part]
        )
        return {LETTERS.get(part, part): telling(part) for part in self.leading}

    row = "direction"

    @property
    def headline(self) -> str:
        several = f"{self.several_minima:.2%} of samples with several minima"
        return f"{self.verdict}; replicon {self.replicon} (regular part; {several})"

    def rows(self) -> list[dict[str, Any]]:
        """The replicon, and for each direction Re μ of the leading eigenvalue."""
        growths = {"replicon": self.replicon} | {
            part: at.growth for part, at in self.leading.items()
        }
        return [{"direction": name, "growth": growth} for name, growth in growths.items()]

    def __str__(self) -> str:
        along = ", ".join(f"{name} {at}" for name, at in self.shown.items())
        return f"{self.headline}; eigenvalues along {along}"

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, as `dotphase solve --json` prints them; an eigenvalue is [real,
        imaginary]."""
        by_part = lambda of: {
            part: {"value": at.value, "error": at.error} for part, at in of.items()
        }
        return plain(
            {
                "verdict": self.verdict,
                "branch": self.branch,
                "replica_symmetry": self.breaking.to_dict(),
                "replicon": self.replicon,
                "several_minima": self.several_minima,
                "eigenvalues": by_part(self.eigenvalues),
                "leading": by_part(self.leading),
            }
        )

    def leaves(self, part: str) -> bool:
        """Whether a small deviation along q, V, m or θ grows, however much the iteration is damped:
        Re μ > 1 by two errors."""
        at = self.leading.get(part)
        return at is not None and at.value.real - SURE * at.error > 1


@checked
def stability(solution: Solution, rule: Rule | None = None) -> Stability:
    """The replicon and the eigenvalues of a solution, on its own nodes unless others are given.

    **Arguments**: `solution`, a fixed point; `rule`, other nodes.

    **Returns**: a `Stability`: replicon, eigenvalues by direction, and a verdict in words.

    **Example**

        at = stability(dotphase.solve(dotphase.paper(alpha=1.25), "positional"))
        print(at.verdict, at.replicon, at.leading["theta"])
    """
    at = linearise(solution, rule)
    return stability_at(at, spectra(at))


def stability_at(at: Linearised, around: Spectra) -> Stability:
    """The stability of a linearised fixed point from its spectra."""
    if not np.isfinite(around.replicon):
        raise ArithmeticError("the replicon is not finite at this fixed point")
    found = named_eigenvalues(at, around)
    strongest = {part: max(group, key=lambda e: abs(e.value)) for part, group in found.items()}
    leading = {part: max(group, key=lambda e: e.value.real) for part, group in found.items()}
    every = sorted(chain(*found.values()), key=lambda e: -e.value.real)
    growing = tuple(e for e in every if e.value.real + SURE * e.error > 1)
    return Stability(strongest, leading, breaking(at, around), growing)


def breaking(at: Linearised, around: Spectra, width: float = WIDTH) -> Breaking:
    """How far replica symmetry holds; `width` is that of the kernel at the jumps.

    At reached minima samples jump where they change basin, between energies that differ: their
    density is not known.
    """
    solution, regular, several = at.solution, replicon(at, around), at.solution.several_minima
    if not isinstance(at.evaluator.minimum, Lowest):
        return Breaking(regular, several, None, None, None)
    average = np.mean([response_action(h, at.evaluator.structure.shape) for h in at.kept], axis=0)
    q, variances = grouped(solution.state.q), []
    for response, squares, jumps in zip(
        around.responses, around.squares, around.jumps, strict=True
    ):
        weights = at_jumps(jumps, q, width)
        variances.append(Variance(response, squares, average, jumps, weights, deviation(jumps, q)))
    return breaking_of(at.evaluator.rule, variances, q, regular, several)


def replicon(at: Linearised, around: Spectra | None = None) -> Estimate:
    """The replicon's spectral radius with its error.

    Each replicate is taken at its own fixed point, so that its nodes' error in V̂ counts as well as
    that in E[J Δ Jᵀ].
    """
    around = around or spectra(at, directions=False)
    error = at.evaluator.rule.error(around.replicons - around.replicon)
    return Estimate(around.replicon, float(error))


def named_eigenvalues(at: Linearised, around: Spectra) -> dict[str, list[Eigenvalue]]:
    """All eigenvalues of ∂map/∂x with their errors, by the overlap their directions have most of."""
    values, right = np.linalg.eig(around.jacobian)
    left = np.linalg.pinv(right)
    moved = np.einsum("ei,rij,je->re", left, around.jacobians - around.jacobian, right)
    layout = coordinate_layout(at.evaluator.structure.shape)
    owner = layout.owner
    # log q, log V and θ are pure numbers; m is measured in units of √q.
    of_m = owner == PARTS.index("m")
    unit = np.where(of_m, np.sqrt(np.abs(at.solution.overlaps.q).max()), 1.0)
    size = np.abs(right / unit[:, None]) ** 2
    weight = np.array([size[owner == part].sum(0) for part in range(len(PARTS))])
    named: dict[str, list[Eigenvalue]] = {}
    for k, part in enumerate(weight.argmax(0)):
        if abs(values[k]) < NULL:  # a direction that the map forgets at once
            continue
        deviations, value = moved[:, k], complex(values[k])
        error = float(at.evaluator.rule.error(np.abs(deviations)))
        # In units in which its largest component is one.
        direction = right[:, k] / np.abs(right[:, k] / unit).max()
        found = Eigenvalue(value, error, deviations, direction)
        named.setdefault(PARTS[part], []).append(found)
    return {part: named[part] for part in PARTS if part in named}
