"""From a head to the theory: a first-layer head as the teacher of a low-rank student.

With u_i = c(x_i) + p_i, the part of the head's input that the word and the place determine, and M the
head's mean form, s_ij ≈ u_i M u_jᵀ, the scenario has

    T = (1 − ω) softmax(q_i·k_j) + ω A,   q_i = c(x_i) w_Q,   k_j = c(x_j) w_K,   w_Q w_Kᵀ ≈ M of rank r

with A the head's mean attention and ω = position/(position + content) by its shares. Tokens have the
covariance of c, positions are p, and w_Q, w_K enter direction by direction: nothing is random.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax

from ..mechanism.distance import attention_distance
from ..results.result import Result
from ..scenario.arguments import checked
from ..scenario.attentions import catalogue as attentions
from ..scenario.scenario import Scenario
from ..scenario.tokens import Positions, Tokens
from ..text.distribution import MeasuredTokens, tokens_from_samples
from ..text.sentences import Sentences
from .layouts import Projections, rotated
from .loading import FirstLayer
from .measure import Heads, measure


@dataclass(frozen=True, repr=False, eq=False)
class HeadTeacher(Result):
    """A head as the teacher of a scenario.

    - `scenario`: for `solve`, `phase`, `critical`, `compare`;  `distribution`: the distribution of its tokens.
    - `heads`: the head's shares, which give ω;  `sentences`: what was measured, in the coordinates of
      the scenario: `train(scenario, data=…)` trains a student on the real words.
    - `neglected`: numbers that are zero where the scenario is exact. `attention`: the mean distance
      ½ Σ_j |A_ij − T_ij| of head and teacher on these sentences; `attention_scale`: that of the head from
      its mean pattern, what a teacher without words would have; `rank`: the share of the scores'
      variance lost by the rank; `neighbours`: the share of the covariances (in squares) between different
      tokens, which are taken as independent; `input`: the share of the input's variance that is not a sum of a word's
      and a place's part; and those of `distribution`.
    """

    scenario: Scenario
    distribution: MeasuredTokens
    heads: Heads
    sentences: Sentences
    omega: float
    neglected: dict[str, float]

    @property
    def headline(self) -> str:
        off, scale = self.neglected["attention"], self.neglected["attention_scale"]
        return (
            f"head as teacher: ω = {self.omega:.3g}, {self.heads.verdict.word}; its attention differs from "
            f"the teacher's by {off:.2g}, from its mean by {scale:.2g}"
        )

    def rows(self) -> list[dict[str, Any]]:
        return [{"omega": self.omega, **self.neglected}]


@checked
def scenario_of(
    head: FirstLayer,
    sentences: np.ndarray,
    *,
    length: int = 3,
    rank: int = 1,
    alpha: float = 2.0,
    ridge: float = 0.01,
) -> HeadTeacher:
    """A first-layer head as the teacher, and a student of the same form and rank.

    **Arguments**

    - `head`: one head: `load(file).only(h)`;  `sentences`: token ids, (n, L′), as in `measure`.
    - `length`: L, of the scenario: the first L places of each sentence.
    - `rank`: r, of the teacher's and the student's scores, which are not tied.
    - `alpha`, `ridge`: of the scenario; d is the width of the model.

    **Returns**: a `HeadTeacher`: the scenario, and what it neglects.

    **Example**: `solve(scenario_of(shipped().only(2), read_ids(shipped())).scenario, start="semantic")`.
    """
    if head.heads != 1:
        raise ValueError(f"head: expected one head, got {head.heads}; take `.only(h)`")
    measured = measure(head, np.asarray(sentences), permutations=0)
    ids = np.asarray(sentences)[:, :length]
    A = softmax(head(ids)[:, 0], axis=-1)
    words, place, spread = _word_and_place(head, ids)
    unit = words.deviation
    words, place = words.scaled_to(1.0), place / unit
    distribution = tokens_from_samples(words, groups=words.dimension, scales=False, alike=True)
    gamma = np.diagonal(distribution.tokens.Gamma, axis1=1, axis2=2)
    root = distribution.basis * np.sqrt(gamma.mean(1))
    form = unit**2 * _mean_form(head.projections, ids.shape[1])
    low_rank = _low_rank(form, root, rank)
    position, content = (max(each.value[0], 0.0) for each in (measured.position, measured.content))
    omega = float(position / (position + content)) if position + content else 0.0
    causal = head.projections.causal
    semantic = (attentions.causal if causal else attentions.softmax)(rank, tied=False)
    scale = words.dimension**0.5
    scenario = Scenario(
        attentions.mixture(A.mean(0), omega, semantic),
        semantic,
        Tokens(gamma, distribution.tokens.share),
        Positions(scale * (distribution.basis.T @ place.T)),
        alpha,
        ridge,
        teacher_weights=scale * (distribution.basis.T @ np.hstack([low_rank.w_Q, low_rank.w_K])),
    )
    T = (1 - omega) * _semantic_attention(words, low_rank, causal) + omega * A.mean(0)
    neglected = {
        "attention": attention_distance(A, T),
        "attention_scale": attention_distance(A, A.mean(0)),
        "rank": low_rank.lost,
        "input": spread,
        "neighbours": _between(distribution.tokens.Gamma),
        **distribution.neglected,
    }
    return HeadTeacher(
        scenario, distribution, measured, distribution.rotated(words), omega, neglected
    )


class _LowRank(NamedTuple):
    w_Q: np.ndarray  # (D, r)
    w_K: np.ndarray  # (D, r)
    lost: float  # share of the variance of u M u' that w_Q w_Kᵀ does not have


def _word_and_place(head: FirstLayer, ids: np.ndarray) -> tuple[Sentences, np.ndarray, float]:
    """c(x), centred, as sentences; p, (L, D), centred; and the share of the input that is neither.

    Both are means of the input u: over the places of the sentence for each word, over words (as often
    as they occur) for each place.
    """
    used, at = np.unique(ids, return_inverse=True)
    length = ids.shape[1]
    u = head.projections.norm(head.inputs(np.repeat(used[:, None], length, 1)))  # (words, L, D)
    frequency = np.bincount(at.ravel(), minlength=len(used)) / ids.size
    place = np.einsum("w,wld->ld", frequency, u)
    mean = place.mean(0)
    word, place = u.mean(1) - mean, place - mean
    left = u - mean - word[:, None] - place
    power = lambda part: float(frequency @ (part**2).sum((1, 2)))
    words = tuple(head.words[k] for k in used) if head.words else ()
    found = Sentences(word, at.reshape(ids.shape), words, {"source": head.origin})
    return found, place, power(left) / power(u - mean)


def _mean_form(layer: Projections, length: int) -> np.ndarray:
    """M, (D, D): s_ij = u_i M u_jᵀ, its mean over the places j < i where a rotary encoding turns it."""
    if layer.norm_q is not None or layer.norm_k is not None:
        raise ValueError("head: its queries and keys are normalised: it is not a bilinear form")
    W_Q, W_K = layer.W_Q[0], layer.W_K[0]
    if layer.rotary is None:
        return layer.scale * W_Q @ W_K.T
    everywhere = lambda W: rotated(np.repeat(W[:, None], length, 1), layer.rotary)  # pyright: ignore
    q, k = everywhere(W_Q), everywhere(W_K)
    i, j = np.tril_indices(length, -1)
    return layer.scale * np.einsum("dpk,epk->de", q[:, i], k[:, j], optimize=True) / len(i)


def _low_rank(form: np.ndarray, root: np.ndarray, rank: int) -> _LowRank:
    """The w_Q w_Kᵀ of rank r nearest to M in the variance of the scores, with Σ = root rootᵀ."""
    if rank > len(form):
        raise ValueError(f"rank: at most the width {len(form)} of the model, got {rank}")
    left, size, right = np.linalg.svd(root.T @ form @ root)
    back = np.linalg.pinv(root).T
    weight = np.sqrt(size[:rank])
    lost = 1 - float((size[:rank] ** 2).sum() / max((size**2).sum(), 1e-300))
    return _LowRank(back @ left[:, :rank] * weight, back @ right[:rank].T * weight, lost)


def _semantic_attention(words: Sentences, form: _LowRank, causal: bool) -> np.ndarray:
    q, k = (words.embeddings @ w for w in (form.w_Q, form.w_K))
    scores = np.einsum("nir,njr->nij", q[words.ids], k[words.ids])
    if causal:
        scores[:, *np.triu_indices(scores.shape[-1], 1)] = -np.inf
    return softmax(scores, axis=-1)


def _between(Gamma: np.ndarray) -> float:
    """The share of covariances (in squares) that is between different tokens."""
    apart = ~np.eye(Gamma.shape[1], dtype=bool)
    return float((Gamma[:, apart] ** 2).sum() / (Gamma**2).sum())
