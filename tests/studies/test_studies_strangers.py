"""Stores and studies made by a stranger: nothing they name is run, nothing is written outside."""

import json
import pickle
import shutil
import sys

import pytest
from test_studies_runner import ALPHAS
from toy_computations import run_study, toy_study
from typer.testing import CliRunner

from dotphase.cli.app import app
from dotphase.studies.store.check import check_study
from dotphase.studies.store.log import as_line
from dotphase.studies.store.status import status
from dotphase.studies.store.store import read_header
from dotphase.studies.store.view import open_study
from dotphase.studies.study.export import export

TRAP = (
    "import pathlib\npathlib.Path({mark!r}).touch()\n"
    "def fly(): pathlib.Path({mark!r}).touch()\nclass Computation: pass\n"
)


class Bomb:
    """A pickle of this touches a file when it is read."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return (open, (self.mark, "w"))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("made") / "run.zarr"
    run_study(toy_study(ALPHAS), path)
    return path


@pytest.fixture
def place(made, tmp_path, monkeypatch):
    """A folder with a stranger's store in it and a module that leaves a mark when it is imported."""
    mark = tmp_path / "mark"
    (tmp_path / "trap.py").write_text(TRAP.format(mark=str(mark)))
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "inside").mkdir()
    (tmp_path / "outside").mkdir()
    shutil.copytree(made, tmp_path / "inside" / "run.zarr")
    yield tmp_path
    assert not mark.exists()
    assert "trap" not in sys.modules
    assert not any((tmp_path / "outside").iterdir())
    assert {found.name for found in tmp_path.iterdir()} <= {
        "trap.py",
        "inside",
        "outside",
        "study.toml",
        "export",
    }


def with_header(store, change):
    """The store with its header changed, with the right checksum."""
    header = read_header(store)
    change(header)
    for name in ("header", "log"):
        file = store / ".sweep" / name
        lines = file.read_bytes().splitlines(keepends=True)
        file.write_bytes(b"".join([as_line(header), *lines[1:]]))


def use(store, folder):
    """Everything one does to read a store; what is refused is refused by a `ValueError` of one
    line."""
    acts = (open_study, status, check_study, lambda path: check_study(path, repair=True),
            lambda path: export(path, "csv", folder / "export"))  # fmt: skip
    told = []
    for act in acts:
        try:
            act(store)
        except ValueError as error:
            told.append(str(error))
    assert not any("\n" in text for text in told)


def put(*names, value):
    def change(header):
        table = header
        for name in names[:-1]:
            table = table[name]
        table[names[-1]] = value

    return change


LAYOUT = ("layouts", "toy")


@pytest.mark.parametrize(
    "change",
    [
        put("study", "compute", "toy", "kind", value="trap:Computation"),
        put("study", "scenario", value={"python": "trap:fly"}),
        put("study", "scenario", value={"python": "os:abort"}),
        put(*LAYOUT, "kind", value="trap:Computation"),
        put("trusted", value=["trap:Computation"]),
        put(*LAYOUT, "label", value="../../outside/x"),
        put(*LAYOUT, "dims", value=["../../outside/x", "alpha", "seed"]),
        put(*LAYOUT, "variables", value={"../../../outside/x": [[], "f8"]}),
        put(*LAYOUT, "variables", value={"value": [["../seed"], "f8"]}),
        put(*LAYOUT, "variables", value={"value": [["seed"], "O"]}),
        put(*LAYOUT, "values", value=[[1.0] * 10_000] * 3),
        put(*LAYOUT, "reach", value=[0, -1, 10**18]),
        put("layouts", value={"../../outside/x": {}}),
        put("study", "name", value="[/red] {x} \x1b[2J"),
        put("provenance", value={"x": "y" * 10}),
        put("format", value=99),
    ],
    ids=lambda change: "-".join(map(str, change.__closure__[0].cell_contents)),
)
def test_headers(place, change):
    store = place / "inside" / "run.zarr"
    with_header(store, change)
    use(store, place)


@pytest.mark.parametrize("name", ["log", "header"])
def test_pickles(place, name):
    store = place / "inside" / "run.zarr"
    (store / ".sweep" / name).write_bytes(pickle.dumps(Bomb(str(place / "mark"))))
    (store / "toy_value" / "c" / "0" / "0" / "0").write_bytes(
        pickle.dumps(Bomb(str(place / "mark")))
    )
    use(store, place)


def test_a_codec_that_unpickles(place):
    store = place / "inside" / "run.zarr"
    for file in [store / "zarr.json", *store.glob("*/zarr.json")]:
        file.write_text(file.read_text().replace('"crc32c"', '"numcodecs.pickle"'))
    use(store, place)


def test_links_out_of_the_store_are_not_written_through(place):
    store = place / "inside" / "run.zarr"
    shutil.rmtree(store / "toy_value")
    (store / "toy_value").symlink_to(place / "outside")
    use(store, place)
    with pytest.raises(ValueError, match="a link inside a store is not followed"):
        run_study(toy_study(ALPHAS), store)
    with pytest.raises(ValueError, match="a link inside a store is not followed"):
        check_study(store, repair=True)


def test_a_log_that_is_a_link_is_not_appended_to(place):
    store = place / "inside" / "run.zarr"
    (store / ".sweep" / "log").unlink()
    (store / ".sweep" / "log").symlink_to(place / "outside" / "log")
    use(store, place)
    with pytest.raises(ValueError, match="a link inside a store is not followed"):
        run_study(toy_study(ALPHAS), store)


@pytest.mark.parametrize(
    "text",
    [
        '[scenario]\npython = "trap:fly"\n[compute.x]\nkind = "baseline"\n',
        '[scenario]\npython = "os:abort"\n[compute.x]\nkind = "baseline"\n',
        '[compute.x]\nkind = "trap:Computation"\n',
        '[compute."../../outside/x"]\nkind = "baseline"\n',
        '[axes]\n"../x" = [1]\n[compute.x]\nkind = "baseline"\n',
        '[axes]\nalpha = { linspace = [0, 1, 100000000000] }\n[compute.x]\nkind = "theory"\n',
        '[axes]\nalpha.linspace = [1, 2, 1000000]\nomega.linspace = [0, 1, 1000000]\n[compute.x]\nkind = "theory"\n',
        '[scenario]\nfile = "/etc/shadow"\n[compute.x]\nkind = "baseline"\n',
    ],
)
def test_studies(place, text):
    (place / "study.toml").write_text(text)
    ran = CliRunner().invoke(
        app, ["sweep", str(place / "study.toml"), "--out", str(place / "inside" / "new.zarr")]
    )
    assert ran.exit_code == 2, ran.output
    assert len(ran.stderr.strip().splitlines()) == 1
    assert not (place / "inside" / "new.zarr").exists()


def test_a_study_with_a_strange_name_runs(place):
    (place / "study.toml").write_text(
        f"name = {json.dumps('{x} [/red]')}\n[compute.x]\nkind = 'baseline'\n"
    )
    ran = CliRunner().invoke(
        app, ["sweep", str(place / "study.toml"), "--out", str(place / "inside" / "new.zarr")]
    )
    assert ran.exit_code == 0, ran.output
