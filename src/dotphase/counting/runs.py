"""A run on disk: the experiment (config.json), the initial weights (initial.npz), the present state
(checkpoint.npz).

Plain JSON and NumPy archives. Every file is written under another name and then renamed, so that a
killed run leaves either the old file or the new one.
"""

import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import jax
import jax.numpy as jnp
import numpy as np

from ..finite.checks import as_seeds
from ..numerics.files import UNFINISHED, written_whole
from ..results.json import plain
from ..results.result import Result
from ..scenario.arguments import checked
from .data import CountingTask
from .epochs import Recipe, Record, State
from .transformer import Mechanism, Weights

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FILES = ("config.json", "initial.npz", "checkpoint.npz")


class RunError(ValueError):
    """A run directory that is missing, unreadable, or belongs to another experiment."""


@checked
@dataclass(frozen=True)
class Surgery:
    """The origin of weights not drawn at random: a trained `mechanism`, folded, plus `noise`·N(0,
    1)."""

    mechanism: Mechanism
    noise: float = 1e-3


@checked
@dataclass(frozen=True)
class Experiment:
    """All settings that determine the result of a run. `seeds`: which, or how many (then 0, 1, …)."""

    mechanism: Mechanism = "semantic"
    task: CountingTask = field(default_factory=CountingTask)
    recipe: Recipe = field(default_factory=Recipe)
    width: int = 64
    hidden: int = 128
    seeds: tuple[int, ...] = (0, 1, 2, 3)
    surgery: Surgery | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "seeds", tuple(as_seeds(self.seeds)))
        if self.width < 2 or self.width % 2:
            raise ValueError(f"width: must be even and positive, got {self.width}")
        if self.hidden < 1:
            raise ValueError(f"hidden: must be positive, got {self.hidden}")
        if self.recipe.batch > self.task.train_samples:
            raise ValueError(
                f"recipe: a batch of {self.recipe.batch} is more than the "
                f"{self.task.train_samples} training samples"
            )

    def to_dict(self) -> dict[str, Any]:
        return json.loads(json.dumps(asdict(self)))

    @classmethod
    def from_dict(cls, config: dict[str, Any]) -> "Experiment":
        return cls(
            **{
                **config,
                "task": CountingTask(**config["task"]),
                "recipe": Recipe(**config["recipe"]),
                "seeds": tuple(config["seeds"]),
                "surgery": Surgery(**config["surgery"]) if config["surgery"] else None,
            }
        )


@dataclass(frozen=True, repr=False, eq=False)
class Run(Result):
    """A run so far. Seeds on the first axis of every array; epochs on the second axis of the
    history."""

    experiment: Experiment
    initial: Weights
    state: State
    history: Record

    row, curve = "seed", True

    @property
    def headline(self) -> str:
        what, seeds = self.experiment.mechanism, len(self.experiment.seeds)
        epochs = f"{self.epochs_done} of {self.experiment.recipe.epochs} epochs"
        return f"counting, {what} mechanism, {seeds} seeds, {epochs}: {self.reached}"

    @property
    def reached(self) -> str:
        """The present loss and accuracy, averaged over the seeds that have not diverged."""
        if not self.epochs_done:
            return "no epoch yet"
        mean = lambda values: (
            np.mean(np.asarray(values)[~self.diverged, -1]) if not self.diverged.all() else np.nan
        )
        loss, accuracy = mean(self.history.train_loss), mean(self.history.validation_accuracy)
        lost = f", {self.diverged.sum()} seeds diverged" if self.diverged.any() else ""
        return f"loss {loss:.4f}, validation accuracy {accuracy:.4f}{lost}"

    @property
    def diverged(self) -> np.ndarray:
        """Which seeds have a loss that is not finite any more, (seeds,)."""
        losses = np.stack([self.history.train_loss, self.history.validation_loss])
        return np.asarray(~np.isfinite(losses).all((0, 2)))

    def rows(self) -> list[dict[str, Any]]:
        last = {
            name: np.asarray(a)[:, -1]
            for name, a in self.history._asdict().items()
            if self.epochs_done
        }
        return [
            {
                "seed": seed,
                "epochs": self.epochs_done,
                **{name: float(column[s]) for name, column in last.items()},
            }
            for s, seed in enumerate(self.experiment.seeds)
        ]

    def arrays(self) -> dict[str, Any]:
        history = {
            f"{name}_history": (("seed", "epoch"), np.asarray(a))
            for name, a in self.history._asdict().items()
        }
        weights = _named(self.state.weights)
        return history | {
            n: (("seed", *(f"{n}_{k}" for k in range(a.ndim - 1))), a) for n, a in weights.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """The experiment, the last epoch of every seed, and the history; the weights are in `save`
        and `to_xarray`."""
        history = {name: plain(a) for name, a in self.history._asdict().items()}
        return {
            "experiment": self.experiment.to_dict(),
            "seeds": plain(self.rows()),
            "history": history,
        }

    def plot(self) -> "Figure":
        """Loss and error against epochs."""
        from .plots import learning_curves

        return learning_curves([self])

    def save(self, path: str | Path) -> None:
        """Save the run in a directory, from which training can continue."""
        begin(prepared(path), self)

    @classmethod
    def load(cls, path: str | Path, functions: Any = ()) -> "Run":
        return load(path)

    @property
    def epochs_done(self) -> int:
        return self.history.train_loss.shape[1]

    @property
    def finished(self) -> bool:
        return self.epochs_done == self.experiment.recipe.epochs


def prepared(directory: str | os.PathLike) -> Path:
    """The directory of a run, checked: it must be writable and contain nothing but a run."""
    place = Path(directory)
    if place.exists() and not place.is_dir():
        raise RunError(f"{place} is a file: choose a directory")
    try:
        place.mkdir(parents=True, exist_ok=True)
        _put(place / "writable", lambda file: file.write(b""))
        (place / "writable").unlink()
    except OSError as error:
        raise RunError(f"{place} cannot be written to: {error.strerror or error}") from None
    others = [p.name for p in place.iterdir() if p.name not in FILES and UNFINISHED not in p.name]
    if others and not (place / "config.json").exists():
        raise RunError(
            f"{place} holds something else ({', '.join(sorted(others)[:3])}): choose another directory"
        )
    return place


def begin(directory: Path, run: Run) -> None:
    """Write the files of a run."""
    config = json.dumps(run.experiment.to_dict(), indent=2) + "\n"
    _put(
        directory / "initial.npz",
        lambda file: np.savez(file, allow_pickle=False, **_named(run.initial)),
    )
    save_checkpoint(directory, run)
    # Last, so that a directory with a config is always complete.
    _put(directory / "config.json", lambda file: file.write(config.encode()))


def save_checkpoint(directory: Path, run: Run) -> None:
    """Replace the checkpoint by the present state of the run."""
    _put(
        directory / "checkpoint.npz",
        lambda file: np.savez(file, allow_pickle=False, **_checkpoint(run)),
    )


@checked
def load(directory: str | os.PathLike) -> Run:
    """Read a run, finished or not, from its directory.

    **Returns**: a `Run`.
    """
    directory = Path(directory)
    if not (directory / "config.json").is_file():
        raise RunError(f"no counting run in {directory}: there is no config.json")
    try:
        experiment = Experiment.from_dict(json.loads((directory / "config.json").read_text()))
        initial = _weights(_read(directory / "initial.npz"))
        return _from_checkpoint(experiment, initial, _read(directory / "checkpoint.npz"))
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise RunError(f"the counting run in {directory} cannot be read: {error}") from error


def resume(directory: Path, fresh: Run) -> Run:
    """The run in `directory`, checked to be the same experiment as `fresh` from the same start."""
    found = load(directory)
    differing = _differences(found.experiment.to_dict(), fresh.experiment.to_dict())
    if differing:
        raise RunError(
            f"{directory} holds another run ({'; '.join(differing)}): choose another directory"
        )
    if any(not np.array_equal(a, b) for a, b in zip(found.initial, fresh.initial, strict=True)):
        raise RunError(
            f"{directory} holds a run from other initial weights: choose another directory"
        )
    return found


def _differences(there: dict, here: dict, prefix: str = "") -> list[str]:
    """Where two configs differ, in words."""
    found = []
    for name in there.keys() | here.keys():
        a, b = there.get(name), here.get(name)
        if isinstance(a, dict) and isinstance(b, dict):
            found += _differences(a, b, f"{prefix}{name}.")
        elif a != b:
            found.append(f"{prefix}{name} is {a} there, {b} here")
    return sorted(found)


def _named(weights: Weights) -> dict[str, np.ndarray]:
    return {name: np.asarray(array) for name, array in weights._asdict().items()}


def _weights(arrays: dict[str, np.ndarray], prefix: str = "") -> Weights:
    return Weights(*(jnp.asarray(arrays[prefix + name]) for name in Weights._fields))


def _checkpoint(run: Run) -> dict[str, np.ndarray]:
    arrays = {f"weights.{name}": array for name, array in _named(run.state.weights).items()}
    arrays |= {f"history.{name}": np.asarray(a) for name, a in run.history._asdict().items()}
    memory = jax.tree.leaves(run.state.optimiser)
    return arrays | {f"optimiser.{i}": np.asarray(leaf) for i, leaf in enumerate(memory)}


def _from_checkpoint(
    experiment: Experiment, initial: Weights, arrays: dict[str, np.ndarray]
) -> Run:
    weights = _weights(arrays, "weights.")
    history = Record(*(arrays[f"history.{name}"] for name in Record._fields))
    blank = jax.eval_shape(jax.vmap(experiment.recipe.build().init), weights)
    leaves = [arrays[f"optimiser.{i}"] for i in range(len(jax.tree.leaves(blank)))]
    memory = jax.tree.unflatten(jax.tree.structure(blank), leaves)
    return Run(experiment, initial, State(weights, memory), history)


def _read(path: Path) -> dict[str, np.ndarray]:
    with np.load(path, allow_pickle=False) as archive:
        return dict(archive)


def _put(path: Path, write: Callable[[BinaryIO], Any]) -> None:
    with written_whole(path) as unfinished, unfinished.open("wb") as file:
        write(file)
