"""Covariances of tokens that need not commute, and what the theory neglects of them.

The theory takes Σ_1 … Σ_L with a common eigenbasis. Covariances that are measured have none. In the
eigenbasis U of their mean only the diagonals of UᵀΣ_lU are kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..numerics.matrix_root import symmetric_root
from ..numerics.progress import Progress, track
from ..results.estimate import Estimate
from ..results.result import Result
from ..results.statistics import over_seeds
from ..scenario.arguments import checked
from ..scenario.scenario import Scenario
from ..scenario.tokens import Tokens
from ..scenario.validation import freeze, thaw


@dataclass(frozen=True, repr=False, eq=False)
class CommonBasis(Result):
    """Tokens in a common eigenbasis, and what that neglects.

    - `tokens`: the diagonals of UᵀΣ_lU, for a `Scenario`, one row for each of d directions.
    - `basis`: U, (d, d), directions in columns, the largest mean variance first.
    - `covariances`: Σ_l as given, (L, d, d).
    - `neglected`: ‖UᵀΣ_lU − diagonal‖/‖Σ_l‖ of each token, (L,), in the Frobenius norm.
    """

    tokens: Tokens
    basis: np.ndarray
    covariances: np.ndarray
    neglected: np.ndarray

    @property
    def headline(self) -> str:
        length, d = len(self.covariances), len(self.basis)
        shares = ", ".join(f"{100 * share:.2g}" for share in self.neglected)
        return (
            f"{length} tokens in {d} dimensions, σ = {self.tokens.deviation:.4g}; the common "
            f"eigenbasis neglects {shares} % of the norm of each covariance"
        )

    def __str__(self) -> str:
        return f"{self.headline}\n  what that changes: .effect(scenario)"

    def rows(self) -> list[dict[str, Any]]:
        traces = np.einsum("lii->l", self.covariances)
        return [
            {"token": l, "trace": float(trace), "neglected": float(share)}
            for l, (trace, share) in enumerate(zip(traces, self.neglected, strict=True))
        ]

    @checked
    def effect(
        self,
        scenario: Scenario,
        start: str = "semantic",
        seeds: int | Iterable[int] = 8,
        progress: Progress = None,
    ) -> Estimate:
        """By how much the neglected part changes the test error of trained weights, relative to it.

        For each seed a student is trained on Gaussian sentences with the covariances as given, and
        another on the same random numbers with those of the common eigenbasis; both are tested on
        sentences of their own kind.

        **Arguments**: `scenario`, what is learned; its tokens must be `tokens`. `start` and `seeds`
        as in `train`.

        **Returns**: an `Estimate` of ε_g(as given)/ε_g(common eigenbasis) − 1, the mean over seeds
        and its standard error: positive where the neglected part makes the task harder.

        **Example**: `found.effect(paper().vary(tokens=found.tokens))`.
        """
        from ..finite.checks import as_seeds
        from ..finite.training.training import train

        if scenario.tokens != self.tokens:
            raise ValueError("scenario: its tokens must be these; use scenario.vary(tokens=…)")
        changes = []
        for seed in track(as_seeds(seeds), "effect of the common eigenbasis", progress):
            given, kept = (
                train(scenario, None, start, seeds=[seed], data=x).runs[0].test_error
                for x in self._sentences(scenario, seed)
            )
            if given is None or kept is None:  # training diverged
                changes.append(None)
            else:
                changes.append(given.value / kept.value - 1)
        return over_seeds(changes)

    def _sentences(self, scenario: Scenario, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Sentences with the covariances as given, in the coordinates of `basis`, and with those of
        `tokens`; αd for training, and some for tests."""
        tests = 4000
        length, d = len(self.covariances), len(self.basis)
        rotated = self.basis.T @ self.covariances @ self.basis
        rng = np.random.default_rng([seed, d])
        normals = rng.standard_normal((round(scenario.sample_ratio * d) + tests, length, d))
        given = np.einsum("nlj,lij->nli", normals, symmetric_root(rotated))
        return given, normals * np.sqrt(self.tokens.gamma.T)


def _eigenbasis(Sigma: np.ndarray) -> np.ndarray:
    """The eigenbasis of the mean, the largest variance first. Where the mean has equal eigenvalues it
    leaves the directions open: there it is the eigenbasis of another combination of the Σ_l, which
    is a common one if there is any."""
    values, basis = np.linalg.eigh(Sigma.mean(0))
    values, basis = values[::-1], basis[:, ::-1].copy()
    combination = np.einsum("l,lij->ij", np.sqrt(np.arange(1, len(Sigma) + 1)), Sigma)
    new_value = np.abs(np.diff(values)) > 1e-8 * values[0]
    for equal in np.split(np.arange(len(values)), np.flatnonzero(new_value) + 1):
        inside = basis[:, equal]
        basis[:, equal] = inside @ np.linalg.eigh(inside.T @ combination @ inside)[1][:, ::-1]
    return basis


@checked
def tokens_from_covariances(S: ArrayLike) -> CommonBasis:
    """Tokens with given covariances Σ_1 … Σ_L, which need not commute, for the theory: their
    diagonals in the eigenbasis of their mean.

    **Arguments**: `S`, (L, d, d), symmetric and positive semi-definite.

    **Returns**: a `CommonBasis`: the `Tokens`, the basis, and what is neglected.

    **Example**, with covariances S of two tokens, (2, d, d), and encodings p, (2, d):

        found = tokens_from_covariances(S)
        scenario = paper().vary(tokens=found.tokens, positions=Positions.from_vectors(p, found.basis))
        print(found, found.effect(scenario))
    """
    Sigma = thaw(freeze("S", S, ndim=3))
    if Sigma.size == 0 or Sigma.shape[1] != Sigma.shape[2]:
        raise ValueError(f"S: expected covariances of shape (L, d, d), got {Sigma.shape}")
    size = np.abs(Sigma).max()
    if np.abs(Sigma - np.swapaxes(Sigma, 1, 2)).max() > 1e-8 * size:
        raise ValueError("S: every covariance must be symmetric")
    Sigma = (Sigma + np.swapaxes(Sigma, 1, 2)) / 2
    for l, values in enumerate(np.linalg.eigvalsh(Sigma)):
        if values[0] < -1e-8 * size or values[-1] <= 0:
            raise ValueError(
                f"S: the covariance of token {l} must be positive semi-definite and not zero, its "
                f"eigenvalues lie between {values[0]:.3g} and {values[-1]:.3g}"
            )
    basis = _eigenbasis(Sigma)
    rotated = basis.T @ Sigma @ basis
    gamma = np.maximum(np.einsum("lii->il", rotated), 0)
    outside = (rotated**2).sum((1, 2)) - np.einsum("lii,lii->l", rotated, rotated)
    neglected = np.sqrt(np.maximum(outside, 0) / (Sigma**2).sum((1, 2)))
    return CommonBasis(Tokens(gamma), basis, Sigma, neglected)
