"""The phase diagram: every point there, independent of threads, written, drawn; and its commands."""

import json

import numpy as np
import pytest
import xarray
from typer.testing import CliRunner

import dotphase
from dotphase.cli.app import app
from dotphase.figures.phase_diagram import draw_phase_diagram
from dotphase.gaussian import Sobol
from dotphase.theory.phase_diagram import phase_diagram

RULE = Sobol(2**11)


@pytest.fixture(scope="module")
def diagram():
    return phase_diagram(dotphase.paper(), [0.6, 1.0, 1.4, 1.8], [0.1, 0.4], rule=RULE, workers=2)


def test_every_point_is_there(diagram):
    assert diagram["outcome"].shape == (2, 2, 4)
    assert set(diagram["outcome"].values.ravel()) <= set(dotphase.theory.OUTCOMES)
    assert np.isfinite(diagram["train_loss"].values).all()
    bad = diagram["outcome"].values != "converged"
    assert (diagram["reason"].values[bad] != "").all()


def test_winners_are_on_their_sides(diagram):
    assert diagram["winner"].sel(mixing=0.1, sample_ratio=1.8).item() == "semantic"
    assert diagram["winner"].sel(mixing=0.4, sample_ratio=1.0).item() == "positional"


def test_lines_lie_where_the_margin_changes_sign(diagram):
    at = float(diagram["alpha_c"].sel(line_mixing=0.1))
    margins = diagram["margin"].sel(mixing=0.1)
    assert float(margins.sel(sample_ratio=1.8)) < 0
    assert 0.6 <= at <= 1.0
    assert np.isfinite(diagram["alpha_c_error"].sel(line_mixing=0.1))


def test_the_number_of_threads_changes_nothing(diagram):
    alone = phase_diagram(dotphase.paper(), [0.6, 1.0, 1.4, 1.8], [0.1, 0.4], rule=RULE, workers=1, lines=False)
    for name in ("train_loss", "test_error", "margin_error"):
        np.testing.assert_array_equal(alone[name].values, diagram[name].values)


def test_it_is_drawn_and_written(diagram, tmp_path):
    diagram.to_netcdf(tmp_path / "diagram.nc", engine="scipy")
    with xarray.open_dataset(tmp_path / "diagram.nc", engine="scipy") as again:
        assert (again["winner"].values == diagram["winner"].values).all()
        assert "mixing" in again.attrs["scenario"]
        draw_phase_diagram(again.load(), tmp_path / "diagram.png")
    assert (tmp_path / "diagram.png").stat().st_size > 10_000


def test_phase_diagram_command(tmp_path):
    grid = ["--alphas", "1:2:2", "--omegas", "0.3:0.3:1", "--nodes", "2048"]
    ran = CliRunner().invoke(app, ["phase-diagram", *grid, "--out", str(tmp_path)])
    assert ran.exit_code == 0, ran.output
    assert (tmp_path / "phase-diagram.nc").exists()
    assert (tmp_path / "phase-diagram.png").exists()
    assert "4 solves" in ran.output


def test_transition_command():
    options = ["--omega", "0.3", "--between", "1.4:1.6", "--precision", "0.02", "--json"]
    ran = CliRunner().invoke(app, ["transition", "linear", *options])
    assert ran.exit_code == 0, ran.output
    answer = json.loads(ran.output)
    assert abs(answer["alpha"]["value"] - 1.492) < 3 * np.hypot(answer["alpha"]["error"], 0.004)
    assert answer["evaluations"] > 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["transition", "magic"],
        ["transition", "linear", "--between", "1:2:3"],
        ["phase-diagram", "--alphas", "nonsense", "--out", "unused"],
        ["phase-diagram", "--omegas", "0.1:2:3", "--out", "unused"],
    ],
)
def test_bad_input_is_one_line(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = CliRunner().invoke(app, arguments)
    assert ran.exit_code == 2
    assert len(ran.stderr.strip().splitlines()) == 1
