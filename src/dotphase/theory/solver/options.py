"""`SolverOptions`: every number that steers the search for a fixed point, in one place."""

from __future__ import annotations

from dataclasses import dataclass

from ...scenario.arguments import checked_with, number

NUMBERS = (  # above or at zero
    "tolerance",
    "first_step",
    "shortest_step",
    "longest_step",
    "longest_move",
    "far",
    "search_below",
    "fresh",
    "in_sight",
    "least_ridge",
    "last_excess",
    "kept_excess",
    "most_kept",
    "small_step",
    "small_move",
    "rough_residual",
    "rough_errors",
    "reached_move",
    "probe",
)


@checked_with(**dict.fromkeys(NUMBERS, number()))
@dataclass(frozen=True)
class SolverOptions:
    """How fixed points are searched for.

    The method is pseudo-transient continuation: implicit steps (1/δ − J) dx = F(x) along the flow
    dx/dt = F(x), whose length δ grows as the residual falls, until they are Newton's.

    **Arguments**

    - `tolerance`: on the undamped residual.
    - `max_evaluations`: of the map on one set of nodes, all attempts together.
    - `attempt`: evaluations of one attempt.
    - `coarse_nodes`: nodes on which a fixed point is first located.
    - `first_step`, `shortest_step`, `longest_step`: δ at the start, and its bounds. A column of
      weights that vanishes has a logarithm that falls for ever: a longer δ would stand still.
    - `longest_move`: of any coordinate in one step; 1 is a factor e in √q or √V.
    - `far`: the residual above which steps follow the flow, and not Newton's direction.
    - `search_below`: the residual below which the inner minima are searched for again.
    - `fresh`: the move of any coordinate over which the lowest minima are followed safely.
    - `patience`, `widenings`: after so many steps without halving the residual, the jumps of the
      prox are blurred more, at most so often; a wider blur would bias the answer.
    - `first_responses`: the attempts from a start: factors of its response V, and the first δ.
    - `added_noise`: variance added to the fields of a start where the map is not defined, in units
      of the teacher's.
    - `in_sight`: the residual from which the first block of the nodes hands over to all of them.
    - `ridges`, `least_ridge`: a fixed point at a larger ridge is followed down to the ridge asked
      for: excess ridges that are tried, in units of the ridge or of `least_ridge`.
    - `last_excess`, `kept_excess`, `most_kept`: the excess from which the ridge asked for is tried;
      the share of it that a step down keeps, at first and at most.
    - `small_step`, `small_move`, `small_step_attempts`, `small_step_turns`: the last resort: δ, the
      longest move, evaluations in units of `attempt`, and the share of them for one Newton attempt.
    - `rough_residual`, `rough_errors`: a residual up to the first is accepted where it changes the
      observables by at most this share of their errors ("imprecise").
    - `reached_steps`, `reached_move`: steps of the quasi-Newton method for reached minima, and the
      longest move in one; `probe`: standard errors over which changes of basin are counted.

    **Example**: `dotphase.solve(scenario, solver=SolverOptions(tolerance=1e-10))`.

    **Reference**: C. T. Kelley and D. E. Keyes, Convergence analysis of pseudo-transient
    continuation, SIAM J. Numer. Anal. 35 (1998).
    """

    tolerance: float = 1e-8
    max_evaluations: int = 2000
    attempt: int = 60
    coarse_nodes: int = 2**13
    first_step: float = 2.0
    shortest_step: float = 1e-2
    longest_step: float = 1e5
    longest_move: float = 1.0
    far: float = 0.1
    search_below: float = 0.02
    fresh: float = 0.05
    patience: int = 4
    widenings: int = 2
    first_responses: tuple[tuple[float, float], ...] = (
        (1.0, 2.0),
        (1.0, 0.3),
        (4.0, 2.0),
        (0.2, 2.0),
        (30.0, 2.0),
    )
    added_noise: tuple[float, ...] = (0.5, 2.0, 8.0, 32.0)
    in_sight: float = 0.15
    ridges: tuple[float, ...] = (3.0, 10.0, 30.0, 100.0)
    least_ridge: float = 1e-3
    last_excess: float = 0.1
    kept_excess: float = 0.3
    most_kept: float = 0.9
    small_step: float = 0.5
    small_move: float = 0.3
    small_step_attempts: int = 5
    small_step_turns: int = 15
    rough_residual: float = 5e-3
    rough_errors: float = 0.1
    reached_steps: int = 15
    reached_move: float = 0.5
    probe: float = 3.0

    def __post_init__(self) -> None:
        if not self.tolerance > 0:
            raise ValueError(f"tolerance: must be positive, got {self.tolerance!r}")
        if self.attempt < 1:
            raise ValueError(f"attempt: at least one is needed, got {self.attempt}")
