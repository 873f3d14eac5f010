"""Fields of new sentences as d → ∞ have the moments of the theory, random scales included."""

import numpy as np

import dotphase
from dotphase.theory.fields import new_sentences, student_fields

COUNT = 200_000


def test_fields_have_the_moments_of_the_theory_with_and_without_scales():
    plain = dotphase.paper(alpha=2, omega=0.3)
    scales = dotphase.Scales([0.1**0.5, 1.9**0.5])
    for task in (plain, plain.vary(tokens=dotphase.Tokens([[0.25, 0.25]], scales=scales))):
        found = dotphase.solve(task, "semantic", rule=dotphase.Sobol(2**12), rtol=None)
        drawn = new_sentences(task, COUNT, np.random.default_rng(0))
        u, h = drawn.teacher_fields[:, 0], student_fields(found, drawn)[:, 0]
        expected = {"q": h**2, "theta": h * u}  # E[s²] = 1
        for name, values in expected.items():
            known = np.ravel(getattr(found.state, name))
            error = values.std(1) / np.sqrt(COUNT)
            assert (np.abs(values.mean(1) - known) < 4 * error).all(), name
        kurtosis = (u**4).mean() / (u**2).mean() ** 2
        assert abs(kurtosis - (3.0 if task is plain else 3 * (0.01 + 3.61) / 2)) < 0.1
