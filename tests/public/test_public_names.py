"""The public face: every name loads, is documented and typed, and the stub that lists them is true."""

import ast
import inspect
import os
import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import dotphase

STUB = Path(dotphase.__file__).with_suffix(".pyi")
NAMES = [name for name in dotphase.__all__ if not isinstance(getattr(dotphase, name), ModuleType)]
FUNCTIONS = [name for name in NAMES if inspect.isfunction(getattr(dotphase, name))]

MODULES = ["", *(name for name in dotphase.__all__ if name not in NAMES)]


def test_the_stub_lists_what_there_is():
    imports = [
        node
        for node in ast.parse(STUB.read_text(encoding="ascii")).body
        if isinstance(node, ast.ImportFrom)
    ]
    listed = [alias.name for node in imports for alias in node.names]
    assert sorted(listed) == dir(dotphase) == sorted(dotphase.__all__)
    assert all(
        alias.asname == alias.name for node in imports for alias in node.names
    )  # else checkers hide it


def test_no_room_hides_a_name():
    rooms = {module.name for module in pkgutil.iter_modules(dotphase.__path__)}
    assert not rooms & set(NAMES)


@pytest.mark.parametrize("name", dotphase.__all__)
def test_every_name_says_in_one_line_what_it_is(name):
    first, *rest = (inspect.getdoc(getattr(dotphase, name)) or "").splitlines() or [""]
    assert len(first) > 20, name
    assert not rest or rest[0] == "" or not first.endswith("."), "the first sentence stands alone"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_help_of_a_function_names_its_arguments_and_shows_an_example(name):
    function = getattr(dotphase, name)
    text = inspect.getdoc(function) or ""
    unnamed = [each for each in inspect.signature(function).parameters if f"`{each}" not in text]
    assert not unnamed, f"{name}: {', '.join(unnamed)} not explained"
    assert "**Example**" in text, name


@pytest.mark.parametrize("module", MODULES)
def test_help_of_every_function_says_what_it_returns(module):
    loaded = import_module(f"dotphase.{module}" if module else "dotphase")
    found = {name: getattr(loaded, name) for name in loaded.__all__}
    silent = [
        name
        for name, function in found.items()
        if inspect.isfunction(inspect.unwrap(function)) and "**Returns**" not in function.__doc__
    ]
    assert not silent, silent


def test_importing_costs_nothing_and_an_unknown_name_is_an_attribute_error():
    code = "import dotphase, sys; print([m for m in ('jax', 'numpy', 'pydantic', 'scipy') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=_environment()
    )
    assert done.stdout.strip() == "[]", done.stderr
    with pytest.raises(AttributeError, match="nothing_of_that_name"):
        _ = dotphase.nothing_of_that_name


USER = """
import dotphase

scenario = dotphase.paper(alpha=2, omega=0.3)
solution = dotphase.solve(scenario, "semantic")
reveal_type(solution)
reveal_type(solution.test_error)
reveal_type(dotphase.train(scenario, d=100).test_error)
reveal_type(dotphase.critical(scenario).location)
print(2 * solution.test_error)
dotphase.solve(scenario, rtol="small")
"""


@pytest.mark.slow
def test_mypy_sees_the_types_in_a_users_script(tmp_path):
    (tmp_path / "user.py").write_text(USER)
    words = [
        sys.executable,
        "-m",
        "mypy",
        "--follow-imports=silent",
        "--cache-dir",
        str(tmp_path / "cache"),
        "user.py",
    ]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, env=_environment())
    revealed = [
        line.partition("Revealed type is ")[2]
        for line in done.stdout.splitlines()
        if "Revealed" in line
    ]
    estimate = '"dotphase.results.estimate.Estimate"'
    assert revealed == ['"dotphase.theory.solver.solution.Solution"', *[estimate] * 3], (
        done.stdout + done.stderr
    )
    errors = [line for line in done.stdout.splitlines() if "error:" in line]
    assert len(errors) == 1, done.stdout
    assert '"rtol"' in errors[0]


@pytest.mark.slow
def test_ninety_five_of_a_hundred_public_symbols_have_a_known_type(tmp_path):
    words = [
        sys.executable,
        "-m",
        "pyright",
        "--verifytypes",
        "dotphase",
        "--ignoreexternal",
        "--outputjson",
    ]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, env=_environment())
    import json

    found = json.loads(done.stdout)["typeCompleteness"]
    assert found["completenessScore"] >= 0.95, found["exportedSymbolCounts"]


def _environment() -> dict[str, str]:
    source = str(STUB.parents[1])
    beside = str(Path(sys.executable).parent)
    return os.environ | {
        "PYTHONPATH": source,
        "MYPYPATH": source,
        "PATH": beside + os.pathsep + os.environ["PATH"],
    }
