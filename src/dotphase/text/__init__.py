"""Real text: words as vectors, sentences as data, their law measured, and where they stand in the phase diagram."""

from .law import MeasuredTokens, tokens_from_samples
from .lengths import Lengths
from .place import Place, phase_of, scenario_of
from .reading import read_embeddings, read_text
from .sentences import Sentences, load_sentences
from .universality import Universality, universality, variant

__all__ = [
    "Lengths",
    "MeasuredTokens",
    "Place",
    "Sentences",
    "Universality",
    "load_sentences",
    "phase_of",
    "read_embeddings",
    "read_text",
    "scenario_of",
    "tokens_from_samples",
    "universality",
    "variant",
]
