"""The documentation: what it says is there, and it can be built."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dotphase

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def pages() -> list[Path]:
    found = [
        path
        for path in DOCS.rglob("*.md")
        if not {"_build", "generated"} & set(path.relative_to(DOCS).parts)
    ]
    return [*found, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]


@pytest.mark.parametrize("page", pages(), ids=lambda path: str(path.relative_to(ROOT)))
def test_links_to_files_lead_somewhere(page):
    for target in re.findall(
        r"\]\(([^)#:]+?)(?:#[^)]*)?\)",
        re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.S),
    ):
        made_when_built = "generated/" in target
        assert made_when_built or (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_numbers_of_the_front_page_are_the_stored_ones():
    stored = json.loads((DOCS / "results" / "headline.json").read_text("utf-8"))
    table = stored["tables"]["headline"]
    row = next(row for row in table["rows"] if row[0] == "0.3")
    text = (ROOT / "README.md").read_text("utf-8")
    for letter in ("α_c", "α_l"):
        assert f"{letter} = {row[table['columns'].index(f'{letter}, lowest')]}" in text


def test_stored_tables_are_tables():
    for path in (DOCS / "results").glob("*.json"):
        for name, table in json.loads(path.read_text("utf-8")).get("tables", {}).items():
            assert all(len(row) == len(table["columns"]) for row in table["rows"]), (
                f"{path.name}: {name}"
            )
            assert table["command"] or table["note"], (
                f"{path.name}: {name} does not say how it is recomputed"
            )


def test_claims_hold_and_a_wrong_one_would_not():
    from benchmarks.validation import Claim, as_estimate, first_order, table, tokens, training

    within = [abs(claim.deviation) < 3 for claim in training()]
    assert sum(within) >= len(within) - 1  # one point, where training leaves the branch
    within = [abs(claim.deviation) < 3 for claim in tokens()]
    assert sum(within) >= len(within) - 1  # three tokens of different length, positional
    # At d = 300 what the theory leaves out, of order 1/d, is seen.
    assert all(
        abs(claim.deviation) < 3 for claim in first_order() if not claim.what.endswith("d = 300")
    )
    wrong = Claim("", as_estimate("1.25 ± 0.01"), as_estimate("1.30(1)"), "")
    assert wrong.deviation == pytest.approx(5 / 2**0.5, rel=1e-6)
    assert "**+3.5**" in wrong.cells()[3]
    assert table("summary").count("\n") >= 5


def test_every_public_name_has_a_page():
    pytest.importorskip("sphinx", reason="the extra `docs` is not installed")
    sys.path.insert(0, str(DOCS))
    try:
        from _site import public
    finally:
        sys.path.remove(str(DOCS))
    made = dict(public.pages())
    assert {f"api/{name}" for name in dotphase.__all__} <= set(made)
    assert "**Arguments**" in made["api/solve"]


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("sphinx", reason="the extra `docs` is not installed")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-q",
        "-b",
        "html",
        str(DOCS),
        str(tmp_path),
    ]
    built = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    assert built.returncode == 0, built.stderr
    for page in (
        "index.html",
        "generated/api/solve.html",
        "generated/gallery.html",
        "validation.html",
    ):
        assert (tmp_path / page).exists()
    index = (tmp_path / "searchindex.js").read_text("utf-8")
    assert all(f'"{word}"' in index or f"{word}:" in index for word in ("spinod", "reach", "ridg"))


def test_no_file_has_marks_of_a_merge():
    names = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if names.returncode:
        pytest.skip("not a git checkout")
    marks = ("<<<<<<< ", ">>>>>>> ")
    for name in names.stdout.split():
        path = ROOT / name
        if path.suffix in (".md", ".py", ".toml", ".js", ".html", ".css", ".json", ".rst"):
            lines = path.read_text(encoding="utf-8").splitlines()
            assert not [line for line in lines if line.startswith(marks)], name
