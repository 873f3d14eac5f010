"""`dotphase dynamics`: bounded work, and an exit code that says whether there is an answer."""

import json

from typer.testing import CliRunner

import dotphase
from dotphase.cli.app import app
from dotphase.numerics.rules import Sobol

RULE = Sobol(2**9)


def test_the_evaluations_are_bounded_and_what_was_reached_is_kept():
    scenario = dotphase.paper(omega=0.3)
    stopped = dotphase.learning.one_pass(
        scenario, "semantic", until=1e9, rule=RULE, max_evaluations=60
    )
    assert stopped.outcome == "stopped"
    assert "60 evaluations reach t =" in stopped.reason
    assert 0 < stopped.times[-1] < 1e9
    assert len(stopped.times) == len(stopped.test_error.value) == 2
    whole = dotphase.learning.one_pass(
        scenario, "semantic", until=[0, float(stopped.times[-1])], rule=RULE
    )
    assert whole.outcome == "finished"
    gap = abs(whole.test_error.value[-1] - stopped.test_error.value[-1])
    assert gap < 1e-5 * whole.test_error.value[-1]


def test_a_rate_that_diverges_ends_with_the_code_of_no_answer():
    found = CliRunner().invoke(app, ["dynamics", "--rate", "1e9", "--json"])
    assert found.exit_code == 3
    answer = json.loads(found.stdout)
    assert answer["outcome"] == "diverged"
    assert "lower the rate" in answer["reason"]


def test_zeros_of_a_random_start_are_explained():
    found = CliRunner().invoke(app, ["dynamics", "--until", "1"])
    assert found.exit_code == 0
    assert "give --d for overlaps" in found.stdout
