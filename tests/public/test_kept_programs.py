"""Programs kept from one process to the next: found again, made again where they are damaged, never
taken for another."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dotphase import attentions
from dotphase.numerics import kept_programs
from dotphase.numerics.kept_programs import kept, stable_name
from dotphase.scenario.attentions.attention import Attention

ANSWER = """
import jax, logging
import dotphase
heard = []
jax.monitoring.register_event_duration_secs_listener(lambda name, seconds, **_: heard.append(name))
found = dotphase.solve(dotphase.paper(alpha=2, omega=0.3, student={student}), "semantic", rtol=None)
print(repr(float(found.test_error.value)), sum("backend_compile" in name for name in heard))
"""


def answer(folder, student="None"):
    """ε_g in a process of its own, and how many programs it compiled."""
    home = {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(folder)}
    text = ANSWER.replace("student={student}", f"student={student}" if student != "None" else "")
    command = [sys.executable, "-c", text]
    printed = subprocess.run(command, env=home, capture_output=True, text=True, check=True).stdout
    value, compiled = printed.split()
    return float(value), int(compiled)


def programs(folder):
    return sorted(folder.glob("program-*"))


def test_a_second_process_compiles_next_to_nothing_and_finds_the_same(tmp_path):
    first, made = answer(tmp_path)
    second, remade = answer(tmp_path)
    assert second == first
    assert len(programs(tmp_path)) >= 8
    assert remade <= made - 8


def test_a_damaged_program_is_made_again(tmp_path):
    first, _ = answer(tmp_path)
    before = programs(tmp_path)
    for number, file in enumerate(before):
        content = file.read_bytes()
        file.write_bytes(content[: len(content) // 2] if number % 2 else b"no pickle")
    second, _ = answer(tmp_path)
    assert second == first
    assert programs(tmp_path) == before
    assert all(file.stat().st_size > 1000 for file in before)


@pytest.fixture
def folder(tmp_path):
    before = jax.config.jax_compilation_cache_dir
    jax.config.update("jax_compilation_cache_dir", str(tmp_path))
    yield tmp_path
    jax.config.update("jax_compilation_cache_dir", before)


def times(number):
    def run(x):
        return number * x

    return kept(run, number, small=True)


def test_what_a_function_closes_over_tells_programs_apart(folder):
    assert times(2)(np.ones(3)).tolist() == [2, 2, 2]
    assert times(3)(np.ones(3)).tolist() == [3, 3, 3]
    assert len(programs(folder)) == 2
    assert times(2)(np.ones(3)).tolist() == [2, 2, 2]
    assert len(programs(folder)) == 2


def test_types_shapes_and_precision_tell_programs_apart(folder):
    double = times(2)
    assert double(np.ones(3, np.float32)).dtype == "float32"
    assert double(np.ones(4, np.float32)).shape == (4,)
    assert double(3).dtype == "int32"
    with jax.enable_x64(True):
        assert double(np.ones(3)).dtype == "float64"
        assert double(3.0).weak_type
    assert len(programs(folder)) == 5


INVERT = """
import jax, numpy as np
from dotphase.numerics.kept_programs import kept
run = kept(jax.numpy.linalg.inv)
print(run(np.diag([2.0, 4.0]).astype(np.float32)).tolist(), len(run.programs))
"""


def test_a_program_that_calls_lapack_runs_in_a_process_that_has_lowered_none(tmp_path):
    home = {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(tmp_path)}
    ran = [
        subprocess.run([sys.executable, "-c", INVERT], env=home, capture_output=True, text=True)
        for _ in range(2)
    ]
    assert [one.stdout for one in ran] == ["[[0.5, 0.0], [0.0, 0.25]] 1\n"] * 2
    assert len(programs(tmp_path)) == 1


def test_a_program_that_calls_back_is_not_kept(folder):
    def run(x):
        return jax.pure_callback(lambda x: 2 * x, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    assert kept(run)(np.ones(2, np.float32)).tolist() == [2, 2]
    assert not programs(folder)


def test_nothing_is_kept_where_nothing_may_be(folder):
    (folder / "file").write_text("")
    jax.config.update("jax_compilation_cache_dir", str(folder / "file" / "below"))
    assert times(2)(np.ones(2)).tolist() == [2, 2]
    jax.config.update("jax_compilation_cache_dir", None)
    assert times(2)(np.ones(2)).tolist() == [2, 2]


def test_equal_values_have_equal_names_and_others_do_not():
    twice = [stable_name(attentions.softmax(2).form) for _ in range(2)]
    assert twice[0] is not None
    assert twice[0] == twice[1]
    students = (attentions.softmax(2), attentions.linear(2), attentions.softmax(1, tied=False))
    assert len({stable_name(student.form) for student in students}) == 3
    assert stable_name(True) != stable_name(1)


def test_a_users_function_is_known_by_its_code():
    make = lambda factor: Attention(lambda h: jnp.tanh(factor * h @ h.T), rank=1).form
    assert stable_name(make(2.0)) == stable_name(make(2.0)) is not None
    assert stable_name(make(2.0)) != stable_name(make(3.0))
    array = np.ones(2)
    assert stable_name(Attention(lambda h: h @ h.T + array, rank=1).form) is None


OF_A_MODULE = """
import dotphase, mine
student = dotphase.Attention(lambda h: mine.attention(h), rank=1)
task = dotphase.paper(alpha=2, omega=0.3).vary(student=student)
rule = dotphase.Sobol(2**10)
print(float(dotphase.solve(task, "semantic", rule=rule, rtol=None).test_error.value))
"""


def test_a_users_module_that_changes_is_not_answered_by_a_kept_program(tmp_path):
    home = {**os.environ, "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "cache")}
    home["PYTHONPATH"] = str(tmp_path)
    home["PYTHONDONTWRITEBYTECODE"] = "1"
    answers = []
    for factor in (1, 1, 3):
        text = f"import jax\ndef attention(h): return jax.nn.softmax({factor} * h @ h.T)\n"
        (tmp_path / "mine.py").write_text(text)
        command = [sys.executable, "-c", OF_A_MODULE]
        ran = subprocess.run(command, env=home, capture_output=True, text=True, check=True)
        answers.append(float(ran.stdout))
    assert answers[0] == answers[1]
    assert answers[2] != answers[0]


def test_a_function_made_from_a_librarys_does_not_pass_for_it():
    assert stable_name(jax.nn.softplus) is not None
    assert stable_name(jax.jit(jax.vmap(jax.grad(jax.nn.softplus)))) is None
    assert stable_name({}.get) is None


def test_nothing_is_kept_once_a_source_has_been_written(folder, monkeypatch):
    monkeypatch.setattr(kept_programs, "IMPORTED", 0.0)
    assert times(2)(np.ones(2)).tolist() == [2, 2]
    assert not programs(folder)
