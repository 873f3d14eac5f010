"""The page as plain files: from `file://` and from any server, in a real browser."""

import http.server
import threading
from functools import partial

import pytest
from browsing import look, slide, text, wait
from typer.testing import CliRunner

from dotphase.cli.app import app
from dotphase.explorer.film import write_film
from dotphase.explorer.site import bundle

READY = "document.documentElement.dataset.ready && document.documentElement.dataset.story"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site, written by the command."""
    folder = tmp_path_factory.mktemp("site")
    done = CliRunner().invoke(app, ["explore", "--static", str(folder)])
    assert done.exit_code == 0, done.output
    assert "MB in all" in done.output
    return folder


@pytest.fixture(scope="module")
def addresses(site):
    serve = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site))
    thread = threading.Thread(target=serve.serve_forever)
    thread.start()
    yield {"file": f"{site.as_uri()}/index.html", "http": f"http://127.0.0.1:{serve.server_port}/"}
    serve.shutdown()
    thread.join()
    serve.server_close()


@pytest.fixture
def visit(opened, addresses):
    def ready(fragment="", source="http", **options):
        page = opened(addresses[source] + fragment, **options)
        wait(page, READY)
        return page

    return ready


def test_a_folder_that_cannot_be_written_is_refused_in_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    done = CliRunner().invoke(app, ["explore", "--static", str(tmp_path / "file")])
    assert done.exit_code == 2
    assert "--static: cannot write" in done.output
    assert "Traceback" not in done.output


def test_modules_that_import_each_other_are_refused(tmp_path):
    (tmp_path / "a.js").write_text('import { b } from "./b.js";\nexport const a = 1;\n')
    (tmp_path / "b.js").write_text('import { a } from "./a.js";\nexport const b = 1;\n')
    with pytest.raises(ValueError, match="imports itself"):
        bundle(tmp_path / "a.js")


@pytest.mark.parametrize("source", ["file", "http"])
def test_the_laboratory_answers_without_a_server(visit, source):
    page = visit("#alpha=2&omega=0.3&d=100", source)
    assert "No server" in text(page, "speaker")
    wait(page, "/semantic wins$/.test(document.getElementById('diagram-reading').textContent)")
    page.focus("#handle")
    for _ in range(10):
        page.keyboard.press("Shift+ArrowDown")
    wait(
        page,
        "/α = 1, .*positional wins$/.test(document.getElementById('diagram-reading').textContent)",
    )
    page.click("#train")
    wait(page, "/ended/.test(document.getElementById('training-reading').textContent)")
    page.click("#tab-counting")
    page.fill("#letters", "strawberry")
    wait(page, "document.querySelectorAll('#counts tr').length === 4")
    rows = page.evaluate(
        "[...document.querySelectorAll('#counts tr')].map(r => [...r.children].map(c => c.textContent))"
    )
    assert rows[1][1:] == rows[2][1:] == rows[3][1:] == list("1131111331")
    page.click("#export-open")
    assert "dotphase.paper(alpha=1, omega=0.3" in text(page, "export-text")
    look(page, f"site-{source}")


def test_what_the_tables_do_not_have_is_said(visit):
    page = visit()
    page.fill("#sigma", "0.4")
    page.keyboard.press("Enter")
    assert "σ is one of 0.3, 0.5, 0.8; 0.4 is not used" in text(page, "notice")
    page.select_option("#student", "relu")
    slide(page, "lambda-range", -2.6)
    reading = "document.getElementById('branches-reading').textContent"
    wait(page, f"/For this student the tables have λ = 0.01/.test({reading})")


@pytest.mark.parametrize(
    ("student", "names"), [("softmax", {"semantic", "positional"}), ("relu", {"positional"})]
)
def test_names_stand_in_their_regions(visit, student, names):
    """A name is where its mechanism wins; a mechanism that wins nowhere has none."""
    page = visit(f"#student={student}")
    plot = "document.getElementById('diagram-plot')"
    wait(page, f"{plot}.data && {plot}.layout.annotations.length === {len(names)}")
    found = page.evaluate(f"{plot}.layout.annotations.map(({{ text, x, y }}) => [text, x, y])")
    shades = page.evaluate(f"(({{ x, y, z }}) => [x, y, z])({plot}.data[0])")
    assert {name[3:-9] for name, *_ in found} == names
    for name, x, y in found:
        nearest = lambda values, at: min(range(len(values)), key=lambda k: abs(values[k] - at))
        shade = shades[2][nearest(shades[1], y)][nearest(shades[0], x)]
        assert (shade < 0) == ("semantic" in name)


def test_an_embedded_page_has_no_head(visit):
    for query, shown, hidden in (
        ("?embed=lab", "#lab", "#story"),
        ("?embed=story", "#story", "#lab"),
    ):
        page = visit(query)
        assert page.is_visible(shown)
        assert page.is_hidden(hidden)
        assert page.is_hidden("header")


def test_a_film_lasts_as_long_as_it_should_and_moves(tmp_path):
    from PIL import Image, ImageSequence

    assert write_film(tmp_path / "film.gif", seconds=1) == 10
    with Image.open(tmp_path / "film.gif") as film:
        pictures = [(f.info["duration"], f.tobytes()) for f in ImageSequence.Iterator(film)]
    assert sum(duration for duration, _ in pictures) == 1000
    assert len({picture for _, picture in pictures}) >= 5  # down and up the same way


def test_a_film_that_cannot_be_written_is_refused_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr("dotphase.explorer.film.shutil.which", lambda _: None)
    for name, reason in (
        ("a.mp4", "needs ffmpeg"),
        ("a.avi", "ends in .gif or .mp4"),
        ("b/a.gif", "no folder"),
    ):
        done = CliRunner().invoke(app, ["explore", "--out", str(tmp_path / name)])
        assert done.exit_code == 2
        assert reason in done.output
