"""Figures from studies: what is computed anew, what failure looks like, and a report that stands
alone."""

import json
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from typer.testing import CliRunner

from dotphase.cli.app import app
from dotphase.figures.frame import catalogue
from dotphase.figures.frame.figure import Claim, PaperFigure, make_study
from dotphase.figures.frame.reproduce import read_records, reproduce
from dotphase.plotting.style import panels
from dotphase.studies.store.store import Store
from dotphase.studies.study.computation import Computation
from dotphase.studies.study.layout import Variable

computed = []


class Counted(Computation):
    """Squares, and a note of every point that was computed."""

    kind: str = f"{__name__}:Counted"
    factor: float = 1.0
    fails_at: float = -1.0

    def variables(self):
        return {"square": Variable()}

    def compute_point(self, point):
        computed.append((self.factor, point.values["omega"]))
        if point.values["omega"] == self.fails_at:
            raise ArithmeticError("no square here")
        return {"square": self.factor * point.values["omega"] ** 2}


def tiny(name, omegas=(0.1, 0.2), **parameters):
    def studies(quality):
        counted = {"kind": f"{__name__}:Counted", **parameters}
        return {name: make_study(name, {}, {"omega": list(omegas)}, counted=counted)}

    def draw(datasets):
        figure, axes = panels(1, 1, 2.0)
        axes[0, 0].plot(datasets[name]["omega"], datasets[name]["counted_square"])
        return figure

    def claims(datasets):
        return [
            Claim("a <square>", (0.05, 0.01), (float(datasets[name]["counted_square"][1]), 0.0))
        ]

    return PaperFigure(name, name, "caption", studies, draw, {"quick": 1.0, "full": 2.0}, claims)


@pytest.fixture(autouse=True)
def _nothing_computed_yet():
    computed.clear()


def test_only_the_figure_whose_study_changed_is_computed_again(tmp_path):
    reproduce([tiny("one"), tiny("two")], "quick", tmp_path)
    assert len(computed) == 4
    computed.clear()
    records = reproduce([tiny("one"), tiny("two", factor=3.0)], "quick", tmp_path)
    assert computed == [(3.0, 0.1), (3.0, 0.2)]
    assert [record.outcome for record in records] == ["made", "made"]
    assert records[1].claims[0].ours == (pytest.approx(3 * 0.2**2), 0.0)


def test_a_store_that_was_replaced_is_kept_and_taken_back(tmp_path):
    reproduce([tiny("one")], "quick", tmp_path)
    reproduce([tiny("one", factor=2.0)], "quick", tmp_path)
    aside = [path for path in (tmp_path / "data").glob("one.*.zarr")]
    assert len(aside) == 1
    assert Store(aside[0]).study["compute"]["counted"]["factor"] == 1.0
    computed.clear()
    records = reproduce([tiny("one")], "quick", tmp_path)
    assert computed == []
    assert records[0].claims[0].ours[0] == pytest.approx(0.2**2)


def test_a_figure_that_fails_does_not_stop_the_others(tmp_path):
    def broken(datasets):
        raise RuntimeError("the pen is\nempty")

    bad = replace(tiny("bad"), draw=broken)
    records = reproduce([bad, tiny("good")], "quick", tmp_path)
    assert [record.outcome for record in records] == ["failed", "made"]
    assert records[0].reason == "RuntimeError: the pen is empty"
    assert (tmp_path / "figures" / "good.pdf").exists()
    assert "RuntimeError: the pen is" in (tmp_path / "figures" / "bad.error.txt").read_text()
    assert "failed: RuntimeError: the pen is empty" in (tmp_path / "report.html").read_text()


def test_a_unit_that_fails_makes_the_figure_incomplete(tmp_path):
    records = reproduce([tiny("one", fails_at=0.1)], "quick", tmp_path)
    assert records[0].outcome == "incomplete"
    assert "1 of 2 entries failed (ArithmeticError: no square here)" in records[0].reason


def test_the_report_has_what_was_made_before_too(tmp_path):
    reproduce([tiny("one")], "quick", tmp_path)
    reproduce([tiny("two")], "quick", tmp_path)
    assert [record.name for record in read_records(tmp_path)] == ["one", "two"]
    text = (tmp_path / "report.html").read_text()
    assert text.count("<img") == 2
    assert "a &lt;square&gt;" in text
    assert text.count(">-1.0<") == 2  # (0.04 − 0.05)/0.01


class Links(HTMLParser):
    """Everything on a page that could make a browser ask for something."""

    def __init__(self):
        super().__init__()
        self.found, self.tags = [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        loading = ("src", "href", "srcset", "data", "poster", "action", "background", "style")
        self.found += [value for name, value in attributes if name in loading]


def test_the_report_stands_alone(tmp_path):
    reproduce([tiny("one")], "quick", tmp_path)
    text = (tmp_path / "report.html").read_text()
    links = Links()
    links.feed(text)
    assert sum(link.startswith("data:image/png;base64,") for link in links.found) == 1
    assert all(link.startswith(("data:", "#")) for link in links.found)
    assert not {"script", "iframe", "object", "embed"} & set(links.tags)
    assert "url(" not in text
    assert "@import" not in text


@pytest.fixture
def two_figures(monkeypatch):
    figures = {"one": tiny("one"), "two": tiny("two", fails_at=0.2)}
    monkeypatch.setattr(catalogue, "MODULES", dict.fromkeys(figures, ""))
    monkeypatch.setattr(catalogue, "figure_named", figures.__getitem__)


@pytest.mark.usefixtures("two_figures")
def test_the_command_tells_what_came_of_it(tmp_path):
    options = ["--out", str(tmp_path), "--workers", "1", "--json"]
    ran = CliRunner().invoke(app, ["reproduce", "one", *options])
    assert ran.exit_code == 0, ran.output
    answer = json.loads(ran.stdout)
    assert answer["figures"][0]["outcome"] == "made"
    assert answer["figures"][0]["claims"][0]["deviation"] == pytest.approx(-1.0)
    assert "about 1.0 s in all" in ran.stderr
    again = CliRunner().invoke(app, ["reproduce", "all", *options])
    assert again.exit_code == 1
    assert "one              about 0.0 s" in again.stderr
    assert "two: incomplete: counted: 1 of 2 entries failed" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nonsense"], "got 'nonsense'"),
        (["--quality", "best"], "quick or full"),
        (["--workers", "0"], "--workers"),
    ],
)
def test_bad_input_is_one_line(arguments, complaint, tmp_path):
    ran = CliRunner().invoke(app, ["reproduce", *arguments, "--out", str(tmp_path / "unused")])
    assert ran.exit_code == 2
    assert complaint in ran.stderr
    assert len(ran.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "unused").exists()


def test_latex_that_is_not_there_is_said_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    ran = CliRunner().invoke(app, ["reproduce", "--latex", "--out", str(tmp_path / "unused")])
    assert ran.exit_code == 2
    assert "--latex" in ran.stderr


OUTSIDE = tiny("outside")


def test_a_figure_of_ones_own_is_named_by_its_module(tmp_path):
    ran = CliRunner().invoke(
        app, ["reproduce", f"{__name__}:OUTSIDE", "--out", str(tmp_path), "--workers", "1"]
    )
    assert ran.exit_code == 0, ran.output
    assert "caption" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(
    "name", [f"{__name__}:computed", f"{__name__}:absent", "absent:absent", "nonsense"]
)
def test_what_is_no_figure_is_refused_in_one_line(name):
    with pytest.raises(ValueError, match="figure: "):
        catalogue.chosen([name])
