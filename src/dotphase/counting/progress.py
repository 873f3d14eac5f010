"""A progress bar for training: epochs, time left, and the present loss and accuracy."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from dotphase.counting.runs import Run


@contextmanager
def epoch_bar(title: str, epochs: int) -> Iterator[Callable[[Run], None]]:
    """Show a bar on the standard error while the block runs; yields the `on_epoch` that moves it.

    The bar appears at the first call, so that a run that is refused prints its refusal only.
    """
    columns = (
        TextColumn(title),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TextColumn("{task.fields[reached]}"),
        TimeRemainingColumn(),
    )
    progress = Progress(*columns, console=Console(stderr=True))
    bar = progress.add_task(title, total=epochs, reached="")

    def on_epoch(run: Run) -> None:
        progress.start()
        progress.update(bar, completed=run.epochs_done, reached=_reached(run))

    try:
        yield on_epoch
    finally:
        progress.stop()


def _reached(run: Run) -> str:
    if not run.epochs_done:
        return "compiling"
    loss, accuracy = run.history.train_loss[:, -1].mean(), run.history.validation_accuracy[:, -1].mean()
    return f"loss {loss:.4f}, validation accuracy {accuracy:.4f}"
