"""The store: every kind goes in and comes out, is read by plain xarray, and survives what disks do."""

import numpy as np
import pytest
import xarray

import dotphase
from dotphase.finite.training.training import train
from dotphase.studies.run.runner import run_study
from dotphase.studies.study.study import study_from

SMALL = {
    "name": "a bit of everything",
    "scenario": {"paper": {}},
    "axes": {"omega": [0.1, 0.3], "alpha": [1.0, 1.5, 2.0]},
    "compute": {
        "linear": {"kind": "baseline"},
        "fits": {"kind": "baseline", "d": 20, "seeds": 2},
        "experiment": {
            "kind": "training",
            "d": 20,
            "seeds": [3, 5, 7],
            "batch": 2,
            "at": {"alpha": [2.0]},
        },
        "messages": {"kind": "gamp", "d": 20, "seeds": 1, "iterations": 5, "at": {"alpha": [2.0]}},
    },
}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "small.zarr"
    run_study(study_from(SMALL), path)
    return path


def test_values_are_those_of_the_functions_called_alone(store):
    with xarray.open_zarr(store) as dataset:  # plainly, as anyone would
        assert dataset["experiment_test_error"].dims == (
            "omega",
            "experiment_alpha",
            "start",
            "experiment_seed",
        )
        runs = train(dotphase.paper(alpha=2.0, omega=0.3), 20, "positional", seeds=[3, 5, 7])
        here = dataset.sel(omega=0.3, experiment_alpha=2.0, start="positional")
        assert here["experiment_test_error"].values.tolist() == runs.values("test_error")
        assert here["experiment_q"].values.tolist() == runs.values("q")
        assert here["experiment_steps"].values.tolist() == [run.steps for run in runs.runs]
        assert here["experiment_outcome"].values.tolist() == [run.outcome for run in runs.runs]
        baseline = dotphase.linear_baseline(dotphase.paper(omega=0.1)).test_error
        assert float(dataset["linear_test_error"].sel(omega=0.1)) == float(baseline.value)


def test_every_point_has_an_outcome_and_seconds(store):
    with xarray.open_zarr(store) as dataset:
        for label in SMALL["compute"]:
            assert "unfinished" not in dataset[f"{label}_outcome"].values
            assert (dataset[f"{label}_seconds"].values > 0).all()


def test_it_says_where_it_comes_from(store):
    with xarray.open_zarr(store) as dataset:
        assert study_from(__import__("json").loads(dataset.attrs["study"])) == study_from(SMALL)
        assert dataset.attrs["dotphase"] == dotphase.__version__
        assert {"jax", "numpy", "zarr", "started"} <= set(dataset.attrs)
        assert np.isfinite(dataset["fits_test_error"].values).all()
