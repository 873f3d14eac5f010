"""The studies in `examples/` are studies."""

from pathlib import Path

import pytest

from dotphase.studies.study.plan import plans_of
from dotphase.studies.study.study import read_study

STUDIES = sorted((Path(__file__).parents[2] / "examples" / "studies").glob("*.toml"))


@pytest.mark.parametrize("file", STUDIES, ids=lambda file: file.stem)
def test_an_example_can_be_planned(file):
    assert all(len(plan) > 0 for plan in plans_of(read_study(file)).values())


def test_there_are_examples():
    assert STUDIES
