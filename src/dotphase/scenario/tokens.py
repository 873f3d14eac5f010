"""The tokens' covariances and the positional encodings, along the directions of the shared
eigenbasis.

Per eigen-direction: γ_l, the eigenvalue of Σ_l, or, for correlated tokens, Γ_ll', the
covariance of tokens l and l' along it; τ_l = √d p_l·e, the positional encoding along it; and a
weight, the share of the d directions that look like this. An isotropic model is one row; a measured
covariance is d rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .arguments import array, checked, checked_with
from .scales import Scales
from .validation import finite_number, freeze, thaw


@checked
@dataclass(frozen=True, repr=False)
class Tokens:
    """Covariances of the tokens x_1 … x_L, whose Σ_l (and cross-covariances) share an eigenbasis.

    **Arguments**

    - `eigenvalues`: γ, (K, L): the eigenvalue of each Σ_l along each of K groups of directions.
    - `weights`: (K,): the share of directions of each kind; scaled to sum to one. Equal shares
      unless given.
    - `covariances`: Γ, (K, L, L), instead of eigenvalues: the joint covariance of the L tokens
      along each group of directions, symmetric and positive semi-definite. Where every Γ is diagonal
      this is the same as its eigenvalues.
    - `scales`: the distribution of random scales that multiply the tokens, `Scales`; all one unless given. Γ
      and γ are covariances of the tokens before that; since E s_l² = 1, those of a single token
      stay what they are.

    **Example**: two tokens, of which the second is noisier along a tenth of the directions; two
    correlated ones:

        Tokens(eigenvalues=[[0.25, 0.25], [0.25, 1.0]], weights=[0.9, 0.1])
        Tokens(covariances=[[[0.25, 0.1], [0.1, 0.25]]])
    """

    eigenvalues: ArrayLike | None = None
    weights: ArrayLike | None = None
    covariances: ArrayLike | None = None
    scales: Scales | None = None

    def __post_init__(self) -> None:
        if (self.eigenvalues is None) == (self.covariances is None):
            raise ValueError("tokens: give `eigenvalues`, (K, L), or `covariances`, (K, L, L)")
        Gamma = None if self.covariances is None else _symmetric(self.covariances)
        if Gamma is not None and not (Gamma[:, ~np.eye(Gamma.shape[1], dtype=bool)]).any():
            object.__setattr__(self, "eigenvalues", np.einsum("kll->kl", Gamma))
            Gamma = None
        gamma = _spectra(self.eigenvalues) if Gamma is None else np.einsum("kll->kl", Gamma)
        if (gamma.max(0) == 0).any():
            raise ValueError(
                "tokens.eigenvalues: a token whose covariance is zero carries no information"
            )
        weights = np.full(len(gamma), 1 / len(gamma)) if self.weights is None else self.weights
        weights = thaw(freeze("tokens.weights", weights, ndim=1))
        if weights.shape != (len(gamma),):
            raise ValueError(
                f"tokens.weights: expected {len(gamma)}, one per direction, got {weights.size}"
            )
        if (weights < 0).any() or weights.sum() == 0:
            raise ValueError("tokens.weights: must not be negative, nor all zero")
        joint = None if Gamma is None else freeze("tokens.covariances", Gamma)
        object.__setattr__(
            self, "eigenvalues", None if joint else freeze("tokens.eigenvalues", gamma)
        )
        total = weights.sum()
        if abs(total - 1) > 1e-12:  # weights that add up to one stay as they are, to the last digit
            weights = weights / total
        object.__setattr__(self, "weights", freeze("tokens.weights", weights))
        object.__setattr__(self, "covariances", joint)
        object.__setattr__(self, "scales", _checked(self.scales, gamma.shape[1]))

    @property
    def joint(self) -> bool:
        """Whether tokens are correlated: some Γ is not diagonal."""
        return self.covariances is not None

    @property
    def gamma(self) -> np.ndarray:
        """γ, (K, L): the diagonals of Γ."""
        if self.covariances is not None:
            return np.einsum("kll->kl", thaw(self.covariances)).copy()  # type: ignore[arg-type]
        return thaw(self.eigenvalues)  # type: ignore[arg-type]

    @property
    def Gamma(self) -> np.ndarray:
        """Γ, (K, L, L), diagonal or not."""
        if self.covariances is not None:
            return thaw(self.covariances)  # type: ignore[arg-type]
        return self.gamma[:, :, None] * np.eye(self.gamma.shape[1])

    @property
    def share(self) -> np.ndarray:
        """The weight of each group of directions, (K,)."""
        return thaw(self.weights)  # type: ignore[arg-type]

    @property
    def deviation(self) -> float:
        """σ: the root of the mean eigenvalue over directions and tokens."""
        return float(np.sqrt((self.share @ self.gamma).mean()))

    @property
    def described(self) -> str:
        """The tokens in one line."""
        groups, correlated = len(self.gamma), ", correlated" * self.joint
        scales = f", {self.scales}" if self.scales else ""
        many = "s" * (groups > 1)
        return f"{groups} group{many} of directions, σ = {self.deviation:.6g}{correlated}{scales}"

    def __repr__(self) -> str:
        return f"Tokens({self.gamma.shape[1]} tokens, {self.described})"

    def _repr_html_(self) -> str:
        from ..results.tables import html_table

        Gamma = [np.array2string(G, precision=4, threshold=16) for G in self.Gamma]
        columns = {"share of directions": self.share, "Γ" if self.joint else "γ": self.gamma}
        if self.joint:
            columns["Γ"] = Gamma  # type: ignore[assignment]
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return html_table(repr(self), rows)

    def scaled_to(self, deviation: float) -> Tokens:
        """The same spectra, scaled so that their root mean eigenvalue σ is `deviation`."""
        deviation = finite_number("token_deviation", deviation, above=True)
        factor = (deviation / self.deviation) ** 2
        if self.joint:
            return Tokens(weights=self.share, covariances=self.Gamma * factor, scales=self.scales)
        return Tokens(self.gamma * factor, self.share, scales=self.scales)


def _spectra(eigenvalues: ArrayLike | None) -> np.ndarray:
    gamma = thaw(freeze("tokens.eigenvalues", eigenvalues, ndim=2))  # type: ignore[arg-type]
    if gamma.size == 0:
        raise ValueError("tokens.eigenvalues: expected at least one direction and one token")
    if (gamma < 0).any():
        raise ValueError(f"tokens.eigenvalues: must not be negative, the least is {gamma.min():g}")
    return gamma


def _symmetric(covariances: ArrayLike) -> np.ndarray:
    most = 20  # tokens: so many are a covariance of d dimensions
    Gamma = thaw(freeze("tokens.covariances", covariances, ndim=3))
    if Gamma.shape[1] > most and Gamma.shape[1] == Gamma.shape[2]:
        raise ValueError(
            f"tokens.covariances: {Gamma.shape} means {Gamma.shape[1]} correlated tokens, (K, L, L); for "
            "covariances of L tokens in d dimensions, (L, d, d), use dotphase.text.tokens_from_covariances"
        )
    if Gamma.size == 0 or Gamma.shape[1] != Gamma.shape[2]:
        raise ValueError(f"tokens.covariances: expected Γ of shape (K, L, L), got {Gamma.shape}")
    size = max(float(np.abs(Gamma).max()), 1e-300)
    if (np.abs(Gamma - np.swapaxes(Gamma, 1, 2)) > 1e-10 * size).any():
        raise ValueError("tokens.covariances: every Γ must be symmetric, Γ_ll' = Γ_l'l")
    Gamma = (Gamma + np.swapaxes(Gamma, 1, 2)) / 2
    if (least := float(np.linalg.eigvalsh(Gamma).min())) < -1e-10 * size:
        raise ValueError(
            f"tokens.covariances: every Γ must be positive semi-definite, an eigenvalue is {least:g}"
        )
    return Gamma


def _checked(scales: Scales | None, length: int) -> Scales | None:
    if scales is None:
        return None
    if not isinstance(scales, Scales):
        raise ValueError(
            f"tokens.scales: expected Scales, such as Scales([0.6, 1.3]), got {type(scales).__name__}"
        )
    if not scales.independent and scales.s.shape[1] != length:
        raise ValueError(
            f"tokens.scales: of {scales.s.shape[1]} tokens, but the tokens are {length}"
        )
    return None if scales.trivial else scales


@checked
def isotropic(length: int, deviation: float | ArrayLike = 1.0) -> Tokens:
    """Σ_l = σ_l² I: one group of directions.

    **Arguments**: `length`, L; `deviation`, σ, or one σ_l per token.

    **Returns**: `Tokens` with one group of directions.

    **Example**: `isotropic(2, deviation=0.5)`.
    """
    sigma = thaw(freeze("token_deviation", deviation))
    if sigma.ndim > 1 or (sigma.ndim == 1 and len(sigma) != length):
        raise ValueError(
            f"token_deviation: expected one σ, or {length} of them, got shape {sigma.shape}"
        )
    if not (sigma > 0).all():
        raise ValueError(f"token_deviation: σ must be positive, got {deviation!r}")
    return Tokens(np.broadcast_to(sigma**2, (1, length)))


@checked
def correlated(
    length: int, deviation: float | ArrayLike = 1.0, correlation: float | ArrayLike = 0.0
) -> Tokens:
    """Correlated tokens: Γ_ll' = σ_l σ_l' c_ll', along all directions alike.

    **Arguments**: `length`, L; `deviation`, σ, or one σ_l per token; `correlation`, c, (L, L) with
    ones on its diagonal, or one number for every two tokens.

    **Returns**: `Tokens` with one group of directions.

    **Example**: `correlated(2, 0.5, -0.3)`, `correlated(3, 0.5, exponential_correlation(3, 0.4))`.
    """
    sigma = np.sqrt(isotropic(length, deviation).gamma[0])
    c = thaw(freeze("correlation", correlation))
    c = np.where(np.eye(len(sigma)) > 0, 1.0, c) if c.ndim == 0 else c
    if c.shape != (len(sigma), len(sigma)) or (np.abs(np.diagonal(c) - 1) > 1e-10).any():
        raise ValueError(
            f"correlation: expected one number, or {len(sigma)}×{len(sigma)} of them with ones on the diagonal"
        )
    return Tokens(covariances=[np.outer(sigma, sigma) * c])


@checked
def exponential_correlation(length: int, decay: float) -> np.ndarray:
    """Correlations that fall by the same factor from token to token: c_ll' = `decay`^|l − l'|, (L,
    L).

    **Arguments**: `length`, L; `decay`, between −1 and 1: the correlation of neighbours.

    **Returns**: the matrix c, (L, L).

    **Example**: `correlated(3, 0.5, exponential_correlation(3, 0.4))`.
    """
    factor = float(thaw(freeze("decay", decay, ndim=0)))
    if not -1 < factor < 1:
        raise ValueError(f"decay: must lie between -1 and 1, got {factor:g}")
    apart = np.abs(np.subtract.outer(np.arange(length), np.arange(length)))
    return np.power(factor, apart)


@checked
@dataclass(frozen=True, repr=False)
class Positions:
    """Positional encodings p_1 … p_L of norm O(1), seen by the student only.

    **Arguments**

    - `components`: τ, (K, L): τ_l = √d p_l·e along each group of directions, in the order of
      `Tokens.eigenvalues`. With isotropic tokens (one row there) any number of rows is allowed, in
      equal shares: then p_l·p_l' = Σ_k τ_kl τ_kl'/K.

    **Example**: `Positions([[1.0, -1.0]])` are the paper's.
    """

    components: ArrayLike

    def __post_init__(self) -> None:
        tau = np.atleast_2d(thaw(freeze("positions.components", self.components)))
        object.__setattr__(self, "components", freeze("positions.components", tau, ndim=2))

    @property
    def tau(self) -> np.ndarray:
        """τ, (K, L)."""
        return thaw(self.components)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        groups, length = self.tau.shape
        square = np.array2string((self.tau**2).mean(0), precision=4, threshold=8)
        return f"Positions({length} tokens, {groups} row{'s' * (groups > 1)}, |τ|² = {square})"

    @classmethod
    @checked_with(p=array(2))
    def from_vectors(cls, p: ArrayLike, basis: ArrayLike | None = None) -> Positions:
        """Encodings given as vectors: τ_il = √d p_l·e_i, one row for each of d directions.

        **Arguments**: `p`, (L, d);  `basis`: the directions e_i, in the columns of a (d, d) array,
        such as `tokens_from_covariances(S).basis`; the coordinates of p unless given.

        **Returns**: `Positions` of d rows.

        **Example**: `Positions.from_vectors([[0.6, 0.8], [-0.6, -0.8]])`.
        """
        vectors = thaw(freeze("p", p, ndim=2))
        d = vectors.shape[1]
        e = np.eye(d) if basis is None else thaw(freeze("basis", basis, ndim=2))
        if e.shape != (d, d):
            raise ValueError(
                f"basis: expected shape {(d, d)} for p of {d} dimensions, got {e.shape}"
            )
        if np.abs(e.T @ e - np.eye(d)).max() > 1e-8:
            raise ValueError("basis: its columns must be orthonormal")
        return cls(np.sqrt(d) * (vectors @ e).T)


@checked
def in_groups(tokens: Tokens, positions: Positions, groups: int) -> tuple[Tokens, Positions]:
    """Fewer groups of directions. Directions are sorted by their mean eigenvalue and cut into
    `groups` parts; those of a part share their mean Γ.

    Encodings keep all their scalar products within a part, p_l·p_l' = Σ_k w_k τ_kl τ_kl': a part
    has a row for each of their principal directions in token space, in equal shares.

    **Arguments**: `tokens` and `positions` with the same number of rows K; `groups`, at most K.

    **Returns**: tokens and positions of at most L · `groups` rows.

    **Example**: `scenario.vary(**dict(zip(("tokens", "positions"), in_groups(tokens, positions, 8))))`.
    """
    w, tau = tokens.share, positions.tau
    if len(tau) != len(w):
        raise ValueError(f"positions: expected {len(w)} rows, as the tokens have, got {len(tau)}")
    order = np.argsort(-np.einsum("kll->k", tokens.Gamma), kind="stable")
    shares, Gammas, rows = [], [], []
    for part in np.array_split(order, min(groups, len(order))):
        if (share := w[part].sum()) == 0:
            continue
        values, vectors = np.linalg.eigh(np.einsum("k,kl,km->lm", w[part], tau[part], tau[part]))
        used = values > 1e-12 * max(values.max(), 1e-300)
        own = np.sqrt(values[used] * used.sum() / share)[:, None] * vectors[:, used].T
        own = own if len(own) else np.zeros((1, tau.shape[1]))
        shares += [share / len(own)] * len(own)
        Gammas += [np.einsum("k,klm->lm", w[part], tokens.Gamma[part]) / share] * len(own)
        rows.append(own)
    found = Tokens(weights=shares, covariances=Gammas, scales=tokens.scales)
    return found, Positions(np.concatenate(rows))


@checked
def opposite_positions(norm: float = 1.0) -> Positions:
    """The paper's two positions, p_1 = −p_2 = (1, …, 1)/√d, times `norm`.

    **Returns**: `Positions` of two tokens.

    **Example**: `paper().vary(positions=opposite_positions(2.0))`.
    """
    return Positions([[norm, -norm]])


@checked
def no_positions(length: int) -> Positions:
    """p_l = 0: the student sees the tokens alone.

    **Arguments**: `length`, L.

    **Returns**: `Positions` that are zero.

    **Example**: `paper().vary(positions=no_positions(2))`.
    """
    return Positions(np.zeros((1, length)))


@checked
def positions_from_gram(gram: ArrayLike) -> Positions:
    """Encodings with given scalar products p_l·p_l' = `gram`, (L, L), for isotropic tokens.

    **Returns**: `Positions`.

    **Example**: `positions_from_gram([[1.0, -0.5], [-0.5, 2.0]])`.
    """
    gram = thaw(freeze("gram", gram, ndim=2))
    if gram.shape[0] != gram.shape[1] or (np.abs(gram - gram.T) > 1e-10 * np.abs(gram).max()).any():
        raise ValueError(
            "gram: scalar products p_l·p_l' form a symmetric matrix, (L, L); this one is not"
        )
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    if values.min() < -1e-10 * max(values.max(), 1e-300):
        raise ValueError(
            f"gram: not positive semi-definite, its least eigenvalue is {values.min():g}"
        )
    return Positions(np.sqrt(np.maximum(values, 0) * len(gram))[:, None] * vectors.T)
