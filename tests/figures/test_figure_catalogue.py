"""Every figure of the catalogue: its studies are sound, it can be drawn, and its published numbers
are found."""

import numpy as np
import pytest
import xarray

from dotphase.figures.frame.catalogue import MODULES, chosen, figure_named
from dotphase.figures.frame.figure import QUALITIES, Claim
from dotphase.figures.frame.style import on_the_page
from dotphase.plotting.style import COLOURS
from dotphase.studies.study.plan import plans_of

WORDS = {"outcome": "converged", "mechanism": "semantic", "winner": "semantic"}


def made_up(study):
    """A dataset of the study's shape: numbers between zero and one, every solve converged."""
    rng, variables, coordinates = np.random.default_rng(0), {}, {}
    for label, plan in plans_of(study).items():
        coordinates |= dict(zip(plan.dims, plan.coordinates, strict=True))
        for name, variable in plan.variables.items():
            kept = plan.kept[name]
            shape = tuple(plan.shape[k] for k in kept)
            values = (
                np.full(shape, WORDS.get(name, ""), object)
                if variable.dtype == "str"
                else rng.uniform(size=shape)
            )
            variables[f"{label}_{name}"] = (tuple(plan.dims[k] for k in kept), values)
    return xarray.Dataset(variables, coordinates, {"study": study.model_dump_json()})


@pytest.mark.parametrize("quality", QUALITIES)
@pytest.mark.parametrize("name", MODULES)
def test_it_is_drawn_in_both_qualities(name, quality):
    figure = figure_named(name)
    assert figure.name == name
    assert figure.core_seconds[quality] >= 0
    datasets = {key: made_up(study) for key, study in figure.studies(quality).items()}
    with on_the_page():
        drawn = figure.draw(datasets)
        if quality == "full":  # which has all that quick has
            drawn.canvas.draw()
    assert drawn.get_figwidth() == pytest.approx(6.75)
    for claim in figure.claims(datasets):
        assert claim.ours is not None, claim.what
        assert np.isfinite(claim.published[0])


def test_stores_are_shared_only_by_equal_studies():
    for quality in QUALITIES:
        seen = {}
        for figure in chosen([]):
            for name, study in figure.studies(quality).items():
                assert seen.setdefault(name, study) == study


def test_chosen_keeps_the_order_and_takes_all():
    assert [figure.name for figure in chosen(["sizes", "transition"])] == ["transition", "sizes"]
    assert len(chosen(["all"])) == len(chosen([])) == len(MODULES) == 18
    with pytest.raises(ValueError, match="got 'figure-1'"):
        chosen(["figure-1"])


@pytest.mark.parametrize(
    ("published", "ours", "deviation"),
    [
        ((1.0, None), (1.2, 0.1), 2.0),
        ((1.0, 0.3), (2.0, 0.4), 2.0),
        ((1.0, None), (2.0, None), None),
        ((1.0, 0.1), None, None),
    ],
)
def test_deviations_are_in_standard_errors(published, ours, deviation):
    assert Claim("", published, ours).deviation == (
        None if deviation is None else pytest.approx(deviation)
    )


def test_the_two_mechanisms_can_be_told_apart_in_grey():
    brightness = [
        sum(int(COLOURS[name][k : k + 2], 16) * w for k, w in ((1, 0.3), (3, 0.59), (5, 0.11)))
        for name in ("semantic", "positional")
    ]
    assert abs(brightness[0] - brightness[1]) > 20
