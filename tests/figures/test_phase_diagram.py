"""The phase diagram: every point there, independent of threads, written, drawn; and its commands."""

import json

import numpy as np
import pytest
from matplotlib import pyplot
from typer.testing import CliRunner

import dotphase
from dotphase.cli.app import app
from dotphase.figures.paper.phase_diagram import draw_phase_diagram, phase_diagram_figure
from dotphase.studies.phase_diagram import phase_diagram_study
from dotphase.studies.run.runner import run_study
from dotphase.studies.store.view import open_study

ALPHAS, OMEGAS, NODES = [0.6, 1.0, 1.4, 1.8], [0.1, 0.4], 2**11


@pytest.fixture(scope="module")
def diagram(tmp_path_factory):
    study = phase_diagram_study(dotphase.paper(), ALPHAS, OMEGAS, NODES)
    return run_study(study, tmp_path_factory.mktemp("diagram") / "diagram.zarr", workers=2).load()


def test_every_point_is_there(diagram):
    outcomes = diagram["theory_outcome"]
    assert outcomes.sizes == {"omega": 2, "alpha": 4, "branch": 2}
    assert set(outcomes.values.ravel()) <= set(dotphase.theory.OUTCOMES)
    assert np.isfinite(diagram["theory_train_loss"].values).all()
    bad = outcomes.values != "converged"
    assert (diagram["theory_reason"].values[bad] != "").all()


def test_winners_are_on_their_sides(diagram):
    assert diagram["theory_winner"].sel(omega=0.1, alpha=1.8).item() == "semantic"
    assert diagram["theory_winner"].sel(omega=0.4, alpha=1.0).item() == "positional"


def test_lines_lie_where_the_margin_changes_sign(diagram):
    line = diagram.sel(transition="train-loss", lines_omega=0.1)
    margins = diagram["theory_margin"].sel(omega=0.1)
    assert float(margins.sel(alpha=1.8)) < 0
    assert 0.6 <= float(line["lines_location"]) <= 1.0
    assert np.isfinite(line["lines_location_error"])


def test_the_number_of_threads_changes_nothing(diagram, tmp_path):
    study = phase_diagram_study(dotphase.paper(), ALPHAS, OMEGAS, NODES, lines=False)
    alone = run_study(study, tmp_path / "alone.zarr", workers=1)
    for name in alone.data_vars:
        if not name.endswith("seconds"):
            np.testing.assert_array_equal(alone[name].values, diagram[name].values)


def test_it_is_drawn(diagram, tmp_path):
    draw_phase_diagram(diagram, tmp_path / "diagram.png")
    assert (tmp_path / "diagram.png").stat().st_size > 10_000
    assert not pyplot.get_fignums()  # the picture is none of pyplot's, which would keep it
    phase_diagram_figure(diagram)
    assert not pyplot.get_fignums()


def drawn_line(diagram, beginning, **options):
    axis = phase_diagram_figure(diagram, **options).axes[0]
    return next(line for line in axis.lines if line.get_label().startswith(beginning)), axis


def test_a_line_passes_its_points_and_is_drawn_to_the_frame(diagram):
    located = diagram.sel(transition="train-loss", lines_omega=0.1)["lines_location"].item()
    lower = diagram.isel(alpha=slice(3))
    assert lower["theory_margin"].isel(alpha=-1).values.prod() < 0  # it leaves at the top
    line, axis = drawn_line(lower, r"$\alpha_c$")
    x, y = line.get_data()
    assert (x[0], y[0]) == pytest.approx((0.1, located))
    assert y[-1] == axis.get_ylim()[1] == 1.4
    assert 0.1 < x[-1] < 0.4


def test_points_with_a_caveat_are_counted_or_on_request_marked(diagram):
    gone = diagram["theory_outcome"].values == "collapsed"
    changed = diagram.copy(deep=True)
    changed["theory_winner"][0, 1:3] = "undecided"
    texts = lambda **options: [
        text.get_text()
        for text in phase_diagram_figure(changed, **options).legends[0].findobj()
        if hasattr(text, "get_text")
    ]
    assert gone.any()
    assert f"a branch is absent ({gone.any(axis=-1).sum()} points)" in texts()
    number = (changed["theory_winner"] == "undecided").values.sum()
    assert any(f"{number} undecided" in text for text in texts())
    assert "undecided (within two errors)" in texts(details=True)


def test_phase_diagram_command_goes_on_with_what_is_there(tmp_path):
    grid = ["--alphas", "1:2:2", "--omegas", "0.3:0.3:1", "--nodes", "2048"]
    command = ["phase-diagram", *grid, "--out", str(tmp_path)]
    ran = CliRunner().invoke(app, command)
    assert ran.exit_code == 0, ran.output
    assert (tmp_path / "phase-diagram.png").exists()
    assert "4 solves" in ran.output
    seconds = open_study(tmp_path / "phase-diagram.zarr")["theory_seconds"].values
    assert CliRunner().invoke(app, command).exit_code == 0
    np.testing.assert_array_equal(
        open_study(tmp_path / "phase-diagram.zarr")["theory_seconds"].values, seconds
    )


def test_transition_command():
    options = ["--omega", "0.3", "--range", "1.4:1.6", "--precision", "0.02", "--json"]
    ran = CliRunner().invoke(app, ["transition", "linear", *options])
    assert ran.exit_code == 0, ran.output
    answer = json.loads(ran.stdout)
    assert abs(answer["alpha"]["value"] - 1.492) < 3 * np.hypot(answer["alpha"]["error"], 0.004)
    assert answer["evaluations"] > 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["transition", "magic"],
        ["transition", "linear", "--range", "1:2:3"],
        ["phase-diagram", "--alphas", "nonsense", "--out", "unused"],
        ["phase-diagram", "--omegas", "0.1:2:3", "--out", "unused"],
    ],
)
def test_bad_input_is_one_line(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = CliRunner().invoke(app, arguments)
    assert ran.exit_code == 2
    assert len(ran.stderr.strip().splitlines()) == 1
