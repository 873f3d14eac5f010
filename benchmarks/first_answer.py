"""The first answer of a fresh process, without any compilation kept and with: these sources against
others.

    python -m benchmarks.first_answer [src folder of another version]

Sources are timed in turn, case by case, in processes of their own; the second solve is timed in the
same process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from .stored import keep_table

NOTE = "Semantic branch, 2^13 nodes, in seconds on two cores."
HERE = str(Path(__file__).resolve().parents[1] / "src")
CASES = {  # tokens, rank of the student, tied
    "L = 2": (2, 1, True),
    "L = 4": (4, 1, True),
    "L = 8": (8, 1, True),
    "L = 3, untied, rank 2": (3, 2, False),
    "L = 4, untied, rank 2": (4, 2, False),
}
TIMED = """
import json, resource, sys, time
began = time.perf_counter()
import numpy as np
import dotphase
length, rank, tied = json.loads(sys.argv[1])
A = np.full((length, length), 0.4 / (length - 1))
np.fill_diagonal(A, 0.6)
student, positions = dotphase.attentions.softmax(rank, tied), dotphase.Positions([np.linspace(1, -1, length)])
teacher, tokens = dotphase.attentions.mixture(A, 0.3), dotphase.scenario.isotropic(length, 0.5)
scenario = dotphase.Scenario(teacher, student, tokens, positions, 2.0, 0.01)
solution = dotphase.solve(scenario, "semantic", rtol=None)
first, later = time.perf_counter() - began, []
for alpha in (2.01, 2.02, 2.03):
    again = time.perf_counter()
    dotphase.solve(scenario.vary(alpha=alpha), "semantic", rtol=None)
    later.append(time.perf_counter() - again)
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"first": first, "processor": used.ru_utime, "second": min(later), "MB": used.ru_maxrss / 1024,
                  "outcome": solution.outcome, "test error": float(solution.test_error.value)}))
"""


def run(other: str | None = None) -> list[dict]:
    """Time every case; one row each, of every source."""
    rows = []
    for name, case in CASES.items():
        for label, source in {"other": other, "here": HERE}.items():
            if source is not None:
                rows.append({"case": name, "sources": label, **_timed(source, case)})
                print("  ".join(f"{key}: {value}" for key, value in rows[-1].items()), flush=True)
    columns = ("", "first answer", "compilations kept", "second solve", "peak memory")
    ours = [row for row in rows if row["sources"] == "here"]
    cells = [
        [row[key] for key in ("case", "first answer", "compilations kept", "second solve", "peak")]
        for row in ours
    ]
    keep_table(
        "theory",
        "first-answer",
        columns,
        cells,
        command="python -m benchmarks.first_answer",
        note=NOTE,
    )
    return rows


def _timed(source: str, case: tuple) -> dict:
    with tempfile.TemporaryDirectory() as empty:
        environ = os.environ | {
            "PYTHONPATH": source,
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.1",
        }
        environ["JAX_COMPILATION_CACHE_DIR"] = empty
        run = lambda: subprocess.run(
            [sys.executable, "-c", TIMED, json.dumps(case)],
            capture_output=True,
            text=True,
            check=True,
            env=environ,
        )
        cold, warm = (json.loads(run().stdout.splitlines()[-1]) for _ in range(2))
    return {
        "first answer": f"{cold['first']:.1f} s ({cold['processor']:.1f} s of processor time)",
        "compilations kept": f"{warm['first']:.1f} s ({warm['processor']:.1f})",
        "second solve": f"{1e3 * min(cold['second'], warm['second']):.0f} ms",
        "peak": f"{cold['MB']:.0f} MB",
        "outcome": f"{cold['outcome']} {cold['test error']:.6g}",
    }


if __name__ == "__main__":
    run(*sys.argv[1:])
