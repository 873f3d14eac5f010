"""One progress for every long call."""

import io
import re
import sys
import threading
import time

import pytest

import dotphase
from dotphase.numerics import progress as module
from dotphase.numerics.progress import counting, reporting, track, track_with_notes


def test_a_callback_sees_every_step_once():
    seen = []
    assert list(track(["a", "b"], "work", lambda done, total: seen.append((done, total)))) == [
        "a",
        "b",
    ]
    with counting(lambda done, total: seen.append((done, total)), "search") as tried:
        tried()
        tried()
    for _, note in track_with_notes(["a"], "work", lambda *counts: seen.append(counts)):
        note("half done")
    assert seen == [(1, 2), (2, 2), (1, None), (2, None), (1, 1)]


@pytest.mark.parametrize("progress", [False, None])
def test_without_progress_nothing_is_printed(progress, capsys):
    assert list(track([1, 2], "work", progress)) == [1, 2]
    assert capsys.readouterr() == ("", "")


def until(seen, capsys):
    """What is printed, once it has what is waited for; however busy the machine is."""
    printed = ""
    for _ in range(3000):
        printed += capsys.readouterr().err
        if re.search(seen, printed):
            return printed
        time.sleep(0.02)
    raise AssertionError(f"{seen} was not printed: {printed}")


def test_in_a_file_there_is_a_line_now_and_then_even_if_nothing_is_reported(monkeypatch, capsys):
    monkeypatch.setattr(module, "SILENT", 0.01)
    with reporting(True, "training", 5) as report:
        assert until(r"training: 0 of 5, 0 s\n", capsys)
        report(0, "step 3")
        assert until(r"training: 0 of 5, \d+ s, step 3\n", capsys)
        report(1, "loss 0.2")
        assert until(r"training: 1 of 5, \d+ s, loss 0.2\n", capsys)
        report(2, "loss 0.1")
        assert until(r"training: 2 of 5, \d+ s, about \d+ s left, loss 0.1\n", capsys)
    capsys.readouterr()
    time.sleep(0.1)
    assert capsys.readouterr().err == ""  # it is over


def test_what_is_not_counted_has_no_number(monkeypatch, capsys):
    monkeypatch.setattr(module, "SILENT", 0.01)
    with counting(True, "search") as tried:
        assert until(r"search: \d+ s\n", capsys)
        tried()
        assert until(r"search: 1, \d+ s\n", capsys)


def test_the_time_left_does_not_count_what_an_earlier_run_did(monkeypatch, capsys):
    clock = iter([0.0, 10.0, 20.0, 20.0])
    monkeypatch.setattr(module.time, "monotonic", lambda: next(clock))
    lines = module._Lines("study", None)
    lines(90, "", 100)
    lines(91, "", 100)
    lines.show()
    assert capsys.readouterr().err == "study: 91 of 100, 20 s, about 90 s left\n"


def test_lines_are_a_fifth_of_the_time_apart(monkeypatch):
    clock = iter([0.0, 0.0, 10.0, 1000.0])
    monkeypatch.setattr(module.time, "monotonic", lambda: next(clock))
    pauses = module._Lines("training", 5).pauses()
    assert [next(pauses) for _ in range(3)] == [5.0, 5.0, 200.0]


def terminal(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    return stream


def test_in_a_terminal_there_is_a_bar(monkeypatch):
    seen = terminal(monkeypatch)
    monkeypatch.setattr(module, "UNSEEN", 1e6)
    with reporting(True, "training", 3) as report:
        assert seen.getvalue() == ""  # a call that is refused prints its refusal only
        report(2, "loss 0.1")
    assert "training" in seen.getvalue()
    assert "2/3" in seen.getvalue()


def test_a_bar_appears_even_if_nothing_is_reported(monkeypatch):
    seen = terminal(monkeypatch)
    with reporting(True, "training", None):
        for _ in range(3000):
            if "training" in seen.getvalue():
                break
            time.sleep(0.02)
        assert "training" in seen.getvalue()


def test_nothing_is_shown_after_an_error_that_is_kept(monkeypatch):
    """As a notebook keeps it: its frames then keep what they were going through alive."""
    monkeypatch.setattr(module, "SILENT", 0.01)
    task = dotphase.paper(alpha=1)
    monkeypatch.setattr("dotphase.finite.training.training.start_weights", None)
    with pytest.raises(TypeError) as kept:
        dotphase.train(task, d=20, progress=True)
    monkeypatch.setattr("dotphase.theory.branches.continuation.solve", None)
    with pytest.raises(TypeError):
        dotphase.theory.follow(task, [1.0], progress=True)
    assert kept.value.__traceback__ is not None
    assert not [thread for thread in threading.enumerate() if thread.name == "progress"]
