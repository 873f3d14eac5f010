"""Commands whose optional packages are missing say which extra installs them, in one line."""

import pytest
from typer.testing import CliRunner

from dotphase.cli.app import app
from dotphase.numerics import extras


@pytest.fixture
def core(monkeypatch):
    """Only the hard dependencies are installed."""
    optional = {module for modules in extras.EXTRAS.values() for module in modules}
    found = extras.find_spec
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name in optional else found(name))
    extras.require.cache_clear()
    yield
    extras.require.cache_clear()


@pytest.mark.parametrize(
    ("arguments", "user", "extra"),
    [
        (["sweep", "study.toml", "--out", "run.zarr"], "studies need", "studies"),
        (["phase-diagram", "--out", "out"], "studies need", "studies"),
        (["reproduce"], "figures need", "studies,report"),
        (["explore", "--no-open"], "the explorer needs", "explorer"),
    ],
)
def test_a_missing_extra_is_one_line(core, tmp_path, monkeypatch, arguments, user, extra):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text('[compute.linear]\nkind = "baseline"\n')
    answer = CliRunner().invoke(app, arguments)
    assert answer.exit_code == 2
    assert answer.stderr == f"error: {user} more packages: pip install 'dotphase[{extra}]'\n"


def test_the_solver_runs_without_extras(core):
    assert CliRunner().invoke(app, ["baseline"]).exit_code == 0
    assert extras.free_memory() > 0
