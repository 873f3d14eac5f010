"""A training whose data are larger than the memory it may use, killed and resumed: python -m
benchmarks.long_training

[D [STEPS]], d = 20,000 and 6 steps of L-BFGS unless given, at α = 1 in single precision: once
undisturbed, once killed (SIGKILL) half-way and begun again with the same call. The weights of both
are compared bit by bit.
"""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
MEMORY = 1e9  # bytes of tokens above which they go to a file


def train(folder: str, d: int, steps: int) -> None:
    """In a process of its own: train, keep the weights, tell time and memory."""
    import dotphase
    from dotphase.finite.training.checkpoint import checkpoint
    from dotphase.finite.training.optimisers import LBFGS

    with checkpoint(folder, memory=MEMORY):
        method = LBFGS(steps=steps, tolerance=1e-5)
        runs = dotphase.train(
            dotphase.paper(alpha=1), d, "semantic", method, 1, precision="float32"
        )
    np.save(Path(folder) / "weights.npy", runs.runs[0].weights)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    told = {"peak_gb": peak, "processor_seconds": time.process_time(), "steps": runs.runs[0].steps}
    print(json.dumps(told))


def begun(folder: Path, d: int, steps: int) -> subprocess.Popen:
    code = f"from benchmarks.long_training import train; train({str(folder)!r}, {d}, {steps})"
    return subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )


def finished(process: subprocess.Popen) -> dict[str, Any]:
    told, _ = process.communicate()
    if process.returncode:
        raise RuntimeError(f"the training ended with exit code {process.returncode}")
    return json.loads(told)


def tape(folder: Path) -> int:
    """Bytes that are on the tape of a run."""
    path = folder / "0000" / "passes"
    return path.stat().st_size if path.exists() else 0


def main(d: int = 20_000, steps: int = 6) -> None:
    from .stored import keep_table

    with tempfile.TemporaryDirectory() as parent:
        whole, broken = (Path(parent) / name for name in ("whole", "broken"))
        began = time.perf_counter()
        undisturbed = finished(begun(whole, d, steps))
        seconds = time.perf_counter() - began
        size = (whole / "0000" / "tokens").stat().st_size / 1e9
        (whole / "0000" / "tokens").unlink()
        process = begun(broken, d, steps)
        while tape(broken) < tape(whole) / 2 and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
        killed_at = tape(broken) / tape(whole)
        resumed = finished(begun(broken, d, steps))
        one, two = (np.load(folder / "weights.npy") for folder in (whole, broken))
    same = (
        "equal, bit by bit"
        if one.tobytes() == two.tobytes()
        else f"DIFFERENT, by {np.abs(one - two).max():g}"
    )
    rows = [
        ["tokens, in a file", f"{size:.2f} GB"],
        ["steps of L-BFGS", undisturbed["steps"]],
        ["peak memory, undisturbed", f"{undisturbed['peak_gb']:.2f} GB"],
        ["peak memory, resumed", f"{resumed['peak_gb']:.2f} GB"],
        [
            "seconds, undisturbed",
            f"{seconds:.0f} ({undisturbed['processor_seconds']:.0f} of processor time)",
        ],
        ["killed after", f"{100 * killed_at:.0f} % of the passes over the data"],
        ["weights after the resume", same],
    ]
    for name, value in rows:
        print(f"{name:<28}{value}")
    command, note = (
        f"python -m benchmarks.long_training {d} {steps}",
        f"d = {d:,}, α = 1, single precision.",
    )
    keep_table("finite", "killed-training", ["", "measured"], rows, command=command, note=note)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
