"""What a release says of itself is true: versions, the paper's numbers, sizes of files."""

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml

import dotphase

ROOT = Path(__file__).resolve().parents[2]
LARGEST = 2**20  # bytes of a file
NEEDED = ()  # files above that, each with its reason


def tracked():
    found = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if found.returncode:
        pytest.skip("not a git repository")
    return [ROOT / name for name in found.stdout.decode().split("\0") if name]


def test_one_version_everywhere():
    version = dotphase.__version__
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))["version"] == version
    assert f"version {version}," in (ROOT / "docs" / "howto" / "cite.md").read_text("utf-8")
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def stored(place):
    name, _, path = place.partition(":")
    found = json.loads((ROOT / "docs" / "results" / f"{name}.json").read_text("utf-8"))
    for key in path.split("/"):
        found = found[int(key)] if isinstance(found, list) else found[key]
    return found


def wrong_numbers(text):
    quoted = re.findall(r'\[([^\]]+)\]\{stored="([^"]+)"\}', text)
    assert len(quoted) > 5
    return [shown for shown, place in quoted if shown != stored(place)]


def test_numbers_of_the_paper_are_the_stored_ones():
    text = (ROOT / "paper" / "paper.md").read_text("utf-8")
    assert wrong_numbers(text) == []
    assert wrong_numbers(text.replace("[1.25095(86)]", "[1.26(1)]")) == ["1.26(1)"]


def test_every_reference_of_the_paper_is_listed():
    text = (ROOT / "paper" / "paper.md").read_text("utf-8")
    listed = re.findall(r"@\w+\{(\w+),", (ROOT / "paper" / "paper.bib").read_text("utf-8"))
    assert set(re.findall(r"@([a-z]+\d{4})", text)) == set(listed)


def test_no_file_is_larger_than_it_needs_to_be():
    large = [path for path in tracked() if path.is_file() and path.stat().st_size > LARGEST]
    assert [str(path.relative_to(ROOT)) for path in large] == list(NEEDED)


def test_the_workflow_calls_what_the_project_calls():
    steps = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))
    run = [step.get("run") for step in steps["jobs"]["test"]["steps"]]
    assert "bash .ci/run" in run
    assert (ROOT / ".ci" / "run").exists()
