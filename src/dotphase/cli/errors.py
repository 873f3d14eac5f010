"""Errors, interruptions and closed pipes, handled in the same way for every command.

Exit codes: 0 answered · 1 some points of a study, or figures, failed · 2 bad input, one line · 3 no
answer: a solve stalled, or every run diverged · 130 interrupted · 141 the reader of the output has
closed the pipe.
"""

from __future__ import annotations

import _thread
import codecs
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import typer
from typer.core import TyperGroup

from ..numerics.extras import MissingPackageError
from . import INTERRUPTED

NO_ANSWER, CUT_OFF = 3, 141

try:  # depending on its version, typer contains click or uses the installed one
    from typer._click import exceptions
except ImportError:
    from click import exceptions  # type: ignore[no-redef]

ClickException: Any = exceptions.ClickException
# Older ones print the help and exit.
NoArgsIsHelpError: Any = getattr(exceptions, "NoArgsIsHelpError", ())


class Commands(TyperGroup):
    """A group of commands whose errors are one line, `error: …`."""

    def make_context(self, *args: Any, **options: Any) -> Any:
        with one_line_errors():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        with one_line_errors():
            return super().invoke(ctx)


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Bad input is one line on the error stream and exit code 2; an interruption is one line and
    code 130."""
    try:
        yield
    except NoArgsIsHelpError:
        raise
    except BrokenPipeError:
        _leave_quietly()
    except ClickException as error:
        _refuse(error.format_message())
    except MissingPackageError as error:
        _refuse(str(error))
    except MemoryError as error:
        _refuse(f"not enough memory: {error}")
    except OSError as error:  # without its number: FILE: No such file or directory
        named = error.strerror and error.filename is not None
        _refuse(f"{error.filename}: {error.strerror}" if named else str(error))
    except ValueError as error:
        _refuse(str(error))
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        raise typer.Exit(INTERRUPTED) from None


def _refuse(message: str) -> None:
    typer.echo(f"error: {' '.join(message.split())}", err=True)
    raise typer.Exit(2) from None


def _leave_quietly() -> None:
    # Python would flush the rest of the output into the closed pipe and print an error.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise typer.Exit(CUT_OFF) from None


SPELLED = {
    "α": "alpha",
    "λ": "lambda",
    "ω": "omega",
    "σ": "sigma",
    "ε": "eps",
    "θ": "theta",
    "ρ": "rho",
    "μ": "mu",
}
SPELLED |= {
    "±": "+/-",
    "→": "->",
    "…": "...",
    "·": ".",
    "×": "x",
    "–": "-",
    "—": "-",
    "−": "-",
    "≤": "<=",
    "²": "^2",
}


def spell_out() -> None:
    """Spell Greek letters where the encoding of the output does not have them."""
    codecs.register_error("spelled", _spelled)
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):  # a stream that a test or a notebook has replaced
            stream.reconfigure(errors="spelled")  # type: ignore[union-attr]


def _spelled(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end]
    return "".join(SPELLED.get(letter, "?") for letter in letters), error.end


_running, _repeated = threading.Event(), threading.Event()


@contextmanager
def kept_interruptions() -> Iterator[None]:
    """No Ctrl-C is lost in this block. Python drops one that arrives in a callback, such as that of
    the garbage collector which JAX has, with a warning: it is not printed, and Ctrl-C is repeated.
    """
    before = sys.unraisablehook

    def quiet(lost: Any) -> None:
        if lost.exc_type is not KeyboardInterrupt:
            before(lost)

    sys.unraisablehook = quiet
    _running.set()
    try:
        yield
    finally:
        _running.clear()


def repeat_until_heard() -> None:
    """Interrupt the main thread again if it goes on as if nothing had happened: callbacks, and C++
    that calls Python, sometimes drop the exception."""

    def watch() -> None:
        pause = 0.3  # seconds; by then an exception that nobody handles has left all functions
        time.sleep(pause)
        while _running.is_set() and _is_interrupted():
            time.sleep(pause)
        if _running.is_set():
            _repeated.set()
            _interrupt_main()

    threading.Thread(target=watch, name="interruption", daemon=True).start()


def was_heard() -> bool:
    """Whether an interruption that has just arrived is a repetition that is not needed."""
    repeated = _repeated.is_set()
    _repeated.clear()
    return repeated and (_is_interrupted() or not _running.is_set())


def _interrupt_main() -> None:
    if hasattr(signal, "pthread_kill"):  # also wakes it
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        _thread.interrupt_main()


def _is_interrupted() -> bool:
    """Whether the main thread is on its way out, which may take a while: studies finish their
    store."""
    found: Any = sys._current_exceptions().get(threading.main_thread().ident or 0)
    error = found[1] if isinstance(found, tuple) else found  # a tuple until Python 3.11
    while error is not None and not isinstance(error, KeyboardInterrupt | GeneratorExit):
        error = error.__context__
    return error is not None
