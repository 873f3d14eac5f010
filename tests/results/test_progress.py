"""One progress for every long call."""

import io
import sys
from types import SimpleNamespace

import pytest

from dotphase.numerics import progress as module
from dotphase.numerics.progress import counting, reporting, track


def test_a_callback_sees_every_step():
    seen = []
    assert list(track(["a", "b"], "work", lambda done, total: seen.append((done, total)))) == [
        "a",
        "b",
    ]
    with counting(lambda done, total: seen.append((done, total)), "search") as tried:
        tried()
        tried()
    assert seen == [(1, 2), (2, 2), (1, None), (2, None)]


@pytest.mark.parametrize("progress", [False, None])
def test_without_progress_nothing_is_printed(progress, capsys):
    assert list(track([1, 2], "work", progress)) == [1, 2]
    assert capsys.readouterr() == ("", "")


def test_in_a_file_there_is_a_line_now_and_then(monkeypatch, capsys):
    clock = iter([0.0, 1.0, 6.0, 7.0, 100.0, 101.0])
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    with reporting(True, "training", 5) as report:
        for done in range(1, 6):
            report(done, "loss 0.1")
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["training: 2 of 5, 6 s, loss 0.1", "training: 4 of 5, 100 s, loss 0.1"]


def test_in_a_terminal_there_is_a_bar(monkeypatch):
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with reporting(True, "training", 3) as report:
        assert terminal.getvalue() == ""  # a call that is refused prints its refusal only
        report(2, "loss 0.1")
    assert "training" in terminal.getvalue()
    assert "2/3" in terminal.getvalue()
