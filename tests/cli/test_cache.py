"""Compilations are kept between commands, where the user wants them."""

import subprocess
import sys

from dotphase.cli.cache import keep_compilations


def test_the_cache_is_the_users_and_the_users_choice_stands():
    environ = {"XDG_CACHE_HOME": "/somewhere"}
    keep_compilations(environ)
    assert environ["JAX_COMPILATION_CACHE_DIR"].startswith("/somewhere/dotphase/compiled-")
    chosen = {"JAX_COMPILATION_CACHE_DIR": "/mine", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "5"}
    before = dict(chosen)
    keep_compilations(chosen)
    assert chosen == before


def test_an_unusable_cache_costs_nothing_but_time(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    code = (
        "import os; from dotphase.cli.cache import keep_compilations; keep_compilations()\n"
        "import jax, jax.numpy as jnp\n"
        "jax.config.update('jax_persistent_cache_min_compile_time_secs', 0)\n"
        "print(float(jax.jit(lambda x: x + 1)(1.0)), os.environ['JAX_COMPILATION_CACHE_DIR'])"
    )
    environ = {"XDG_CACHE_HOME": str(tmp_path / "file"), "PATH": "", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environ)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2.0 ")
