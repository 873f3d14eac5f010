"""`dotphase sweep` and `export`, and studies too large to be listed."""

import json
import tracemalloc

import pandas
import pytest
import xarray
from test_studies_runner import ALPHAS, assert_same
from toy_computations import run_study, toy_study, trusted
from typer.testing import CliRunner

from dotphase.cli.app import app
from dotphase.studies.store.status import status
from dotphase.studies.store.store import WritableStore
from dotphase.studies.store.view import open_study
from dotphase.studies.study.plan import plans_of
from dotphase.studies.study.study import study_from

STUDY = """
name = "toys"
[axes]
omega = [0.1, 0.2]
alpha = { linspace = [1, 5, 5] }
[compute.toy]
kind = "toy_computations:Toy"
"""


def command(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def study(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path / "study.toml"


def test_both_spellings_run_a_study(study, tmp_path):
    assert command("sweep", study, "--trust-code", "--out", tmp_path / "a.zarr").exit_code == 0
    assert (
        command(
            "sweep", "run", "--trust-code", "--out", tmp_path / "b.zarr", study, "--workers", 2
        ).exit_code
        == 0
    )
    assert_same(open_study(tmp_path / "a.zarr"), open_study(tmp_path / "b.zarr"))


def test_set_changes_the_study(study, tmp_path):
    ran = command(
        "sweep",
        "--trust-code",
        "--out",
        tmp_path / "a.zarr",
        "--set",
        "axes.alpha=[1.0]",
        "--set",
        "name=few",
        study,
    )
    assert ran.exit_code == 0, ran.output
    assert open_study(tmp_path / "a.zarr").sizes["alpha"] == 1


def test_failures_are_told(study, tmp_path):
    ran = command(
        "sweep",
        study,
        "--trust-code",
        "--out",
        tmp_path / "a.zarr",
        "--set",
        "compute.toy.fails_at=2.0",
    )
    assert ran.exit_code == 1
    assert "4 failed" in ran.stdout
    assert "on purpose" in ran.stderr


def test_status(study, tmp_path):
    command("sweep", study, "--trust-code", "--out", tmp_path / "a.zarr")
    found = json.loads(command("sweep", "status", tmp_path / "a.zarr", "--json").stdout)
    assert (found["done"], found["failed"], found["total"], found["running"]) == (10, 0, 10, False)
    assert found["compute"]["toy"]["points"] == 10
    assert "10 of 10 units done" in command("sweep", "status", tmp_path / "a.zarr").stdout


def test_the_schema_is_json():
    assert json.loads(command("sweep", "schema").stdout)["title"] == "Study"


@pytest.mark.parametrize(
    "words",
    [
        ("sweep", "nowhere.toml", "--out", "run.zarr"),
        ("sweep", "study.toml"),
        ("sweep", "study.toml", "--out", "run.zarr", "--set", "axes.beta=[1]"),
        ("sweep", "study.toml", "--out", "study.toml"),
        ("sweep", "study.toml", "--out", "run.zarr", "--workers", "0"),
        ("sweep", "status", "nowhere.zarr"),
        ("export", "nowhere.zarr", "--format", "csv"),
        ("export", "nowhere.zarr", "--format", "xls"),
    ],
)
def test_bad_input_is_code_two_and_leaves_nothing(study, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    ran = command(*words)
    assert ran.exit_code == 2, ran.output
    assert "Traceback" not in ran.output
    assert [found.name for found in tmp_path.iterdir()] == ["study.toml"]


@pytest.fixture
def store(tmp_path):
    study = toy_study(ALPHAS)
    study["compute"]["linear"] = {"kind": "baseline"}
    run_study(study, tmp_path / "run.zarr")
    return tmp_path / "run.zarr"


def test_csv_has_a_row_for_each_entry(store, tmp_path):
    files = command("export", store, "--format", "csv").stdout.split()
    assert [file.rpartition("/")[2] for file in files] == ["run_toy.csv", "run_linear.csv"]
    table = pandas.read_csv(files[0])
    assert len(table) == 20
    row = table[(table.omega == 0.2) & (table.alpha == 3) & (table.seed == 1)].iloc[0]
    assert (row["value"], row["word"], row["outcome"]) == (3.0, "α = 3", "done")
    assert len(pandas.read_csv(files[1])) == 2


def test_netcdf_is_the_dataset(store, tmp_path):
    ran = command("export", store, "--format", "netcdf", "--out", tmp_path / "out")
    assert ran.exit_code == 0, ran.output
    with xarray.open_dataset(tmp_path / "out" / "run.nc", engine="scipy") as found:
        assert_same(found, open_study(store))
        assert json.loads(found.attrs["study"])["name"] == "toys"


def test_parquet_is_the_table(store):
    pytest.importorskip("pyarrow")
    files = command("export", store, "--format", "parquet").stdout.split()
    assert len(pandas.read_parquet(files[0])) == 20


def test_a_hundred_thousand_points_are_planned_without_listing_them(tmp_path):
    axes = {
        "alpha": {"linspace": [0.5, 2, 50]},
        "omega": {"linspace": [0, 1, 50]},
        "sigma": {"linspace": [0.3, 1, 40]},
    }
    tables = {"axes": axes, "compute": {"theory": {"kind": "theory", "batch": 1}}}
    study = study_from(tables)
    WritableStore.create(
        trusted(toy_study(ALPHAS)), tmp_path / "small.zarr"
    )  # imports are not counted
    status(tmp_path / "small.zarr")
    tracemalloc.start()
    try:
        plan = plans_of(study)["theory"]
        assert len(plan) == plan.points == 100_000
        assert plan.places(99_999)[0].values == {"alpha": 2.0, "omega": 1.0, "sigma": 1.0}
        store = WritableStore.create(study, tmp_path / "run.zarr")
        head = {
            "of": store.identity,
            "label": "theory",
            "status": "done",
            "seconds": 0.1,
            "time": 0.0,
            "code": "x",
        }
        for unit in range(0, 100_000, 20):
            store.log.append(head | {"unit": unit})
        store.close()
        found = status(tmp_path / "run.zarr")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (found["done"], found["total"]) == (5_000, 100_000)
    assert peak < 1.5e6, peak  # a list of so many empty objects would be larger
