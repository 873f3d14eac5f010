"""What all tests share: one folder of compiled programs, for this process, its siblings and the
commands they run."""

import atexit
import os
import shutil
import tempfile

import pytest

if "JAX_COMPILATION_CACHE_DIR" not in os.environ:  # before JAX is imported
    folder = os.environ["JAX_COMPILATION_CACHE_DIR"] = tempfile.mkdtemp(prefix="dotphase-tests-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.3")


@pytest.fixture
def nothing_kept(monkeypatch):
    """Programs are compiled in this process and not kept: for wrong equations."""
    from dotphase.numerics import kept_programs

    monkeypatch.setattr(kept_programs, "_folder", lambda: None)
