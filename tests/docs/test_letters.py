"""Letters with indices in sentences become formulas; names of the code do not."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("sphinx", reason="the extra `docs` is not installed")
sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
from _site.mathematics import LETTER, as_latex

FORMULAS = {
    "ε_t": r"\varepsilon_{t}",
    "q_ll'": "q_{l l '}",
    "2^13": "2^{1 3}",
    "ε_lin": r"\varepsilon_{\mathrm{lin}}",
    "m̂_l": r"\hat{m}_{l}",
    "G^{xx̃}": r"G^{x \tilde{x}}",
    "s_l²": "s_{l}^2",
    "ℓ_μ": r"\ell_{\mu}",
}


def formulas(text):
    """The formulas that are found in a sentence."""
    found = LETTER.finditer(text)
    return [as_latex(each) for each in found if each["below"] or each["above"] or each["accent"]]


@pytest.mark.parametrize("text", FORMULAS)
def test_letters_with_indices_are_formulas(text):
    assert formulas(f"At {text}, and so on.") == [FORMULAS[text]]


@pytest.mark.parametrize(
    "name", ["test_error", "docs/x_y.md", "theory_test_error", "a.b_c", "α = 2"]
)
def test_names_of_the_code_are_not(name):
    assert formulas(f"See {name} for it.") == []
