"""The studies in `examples/` are studies."""

from pathlib import Path

import pytest

from dotphase.sweeps import read_study
from dotphase.sweeps.engine.plan import plans_of

STUDIES = sorted((Path(__file__).parents[2] / "examples" / "studies").glob("*.toml"))


@pytest.mark.parametrize("file", STUDIES, ids=lambda file: file.stem)
def test_an_example_can_be_planned(file):
    assert all(len(plan) > 0 for plan in plans_of(read_study(file)).values())


def test_there_are_examples():
    assert STUDIES
