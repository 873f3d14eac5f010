"""Compilations are kept between commands, where the user wants them."""

import os
import subprocess
import sys

from dotphase.numerics.cache import keep_compilations, trim


def test_the_cache_is_the_users_and_the_users_choice_stands():
    environ = {"XDG_CACHE_HOME": "/somewhere"}
    keep_compilations(environ)
    assert environ["JAX_COMPILATION_CACHE_DIR"].startswith("/somewhere/dotphase/compiled-")
    chosen = {
        "JAX_COMPILATION_CACHE_DIR": "/mine",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "5",
    }
    before = dict(chosen)
    keep_compilations(chosen)
    assert chosen == before


def test_an_unusable_cache_costs_nothing_but_time(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    code = (
        "import os; from dotphase.numerics.cache import keep_compilations; keep_compilations()\n"
        "import jax, jax.numpy as jnp\n"
        "jax.config.update('jax_persistent_cache_min_compile_time_secs', 0)\n"
        "print(float(jax.jit(lambda x: x + 1)(1.0)), os.environ['JAX_COMPILATION_CACHE_DIR'])"
    )
    environ = {
        "XDG_CACHE_HOME": str(tmp_path / "file"),
        "PATH": "",
        "PYTHONPATH": ":".join(sys.path),
    }
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environ)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2.0 ")


KEPT = (
    "import dotphase, jax; from dotphase.numerics.compilation import compiled\n"
    "from dotphase.numerics.cache import folder\n"
    "import os; compiled(lambda x: x @ x)(jax.numpy.eye(3)); print(jax.config.jax_compilation_cache_dir)\n"
)


def python(code, **environ):
    environ = {"PATH": "", "PYTHONPATH": ":".join(sys.path), "HOME": "/nowhere"} | environ
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, env=environ
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_python_keeps_its_compilations_like_the_command_line(tmp_path):
    assert python(KEPT, XDG_CACHE_HOME=str(tmp_path)).startswith(
        str(tmp_path / "dotphase" / "compiled-")
    )
    assert python(
        KEPT, XDG_CACHE_HOME=str(tmp_path), JAX_COMPILATION_CACHE_DIR=str(tmp_path / "mine")
    ).endswith("mine")
    assert (
        python(KEPT, XDG_CACHE_HOME=str(tmp_path), JAX_ENABLE_COMPILATION_CACHE="false") == "None"
    )


def test_without_a_folder_to_write_to_nothing_is_kept(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    assert python(KEPT, XDG_CACHE_HOME=str(tmp_path / "file")) == "None"


def test_what_is_kept_is_bounded(tmp_path):
    for age in range(4):
        (tmp_path / f"{age}").write_bytes(b"x" * 100)
        os.utime(tmp_path / f"{age}", (1e9 - age, 1e9 - age))
    trim(tmp_path, largest=250)
    assert sorted(os.listdir(tmp_path)) == ["0", "1"]
    trim(tmp_path / "missing")
