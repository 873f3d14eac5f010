"""The tables and the picture of docs/counting.md, from runs of the published setting.

dotphase counting train --mechanism semantic --out RUNS/semantic        (positional alike)
dotphase counting surgery RUNS/semantic                                 (positional alike)
dotphase counting train --mechanism free --epochs 60 --seeds 8 --out RUNS/free
python -m benchmarks.counting_tables RUNS
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.stored import RESULTS, keep_table
from dotphase.counting import Run, attention, load, what_stayed
from dotphase.counting.plots import COLOURS, mechanism_plane
from dotphase.counting.summary import seed_weights, summarise
from dotphase.counting.training import all_data
from dotphase.results.statistics import over_seeds

COMMAND = "python -m benchmarks.counting_tables RUNS"
PUBLISHED = "0.9989 ± 0.0012, 0.9988 ± 0.0004"
RESTRICTED = ("semantic", "positional")


def run(directory: str) -> None:
    place = Path(directory)
    runs = {name: load(place / name) for name in (*RESTRICTED, "free")}
    summaries = {name: summarise(each) for name, each in runs.items()}
    shares = {
        "share of position in the variance of the scores": "position",
        "… of the letters": "content",
        "… of neither": "rest",
        "weight on equal letters": "equal_letter_weight",
    }

    def rows(names: tuple[str, ...]) -> list[list[Any]]:
        found: list[list[Any]] = [
            ["validation accuracy, last epoch", *(summaries[n].accuracy for n in names)],
            ["settled (mean of the last tenth)", *(summaries[n].settled for n in names)],
        ]
        for title, field in shares.items():
            found.append([title, *(_short(getattr(summaries[n].scores, field)) for n in names)])
        return [*found, ["verdicts", *(_count(summaries[n].seeds) for n in names)]]

    measured = [[*row, ""] for row in rows(RESTRICTED)]
    measured[0][-1] = PUBLISHED
    keep_table(
        "counting",
        "measured",
        ["", *RESTRICTED, "published (semantic, positional)"],
        measured,
        command=COMMAND,
        note="The published values are means and deviations over ten runs.",
    )
    _surgery(place, runs)
    selves = {name: _to_itself(each) for name, each in runs.items()}
    names = ("free", *RESTRICTED)
    extra = [
        ["attention to itself, of a letter that occurs again", *(selves[n][0] for n in names)],
        ["attention to each equal letter elsewhere", *(selves[n][1] for n in names)],
    ]
    keep_table(
        "counting",
        "free",
        ["", *names],
        [*rows(names), *extra],
        command=COMMAND,
        note="Free: 60 epochs, eight seeds; the restricted models: 200 epochs, four seeds.",
    )
    groups = {
        name: (COLOURS[name], [seed.scores for seed in summary.seeds])
        for name, summary in summaries.items()
    }
    mechanism_plane(groups).savefig(RESULTS.parent / "pictures" / "counting-plane.png", dpi=150)


def _surgery(place: Path, runs: dict[str, Run]) -> None:
    stayed = {name: what_stayed(runs[name], load(place / name / "surgery")) for name in RESTRICTED}
    mean = lambda field: [over_seeds([getattr(r, field) for r in stayed[n]]) for n in RESTRICTED]
    titles = {
        "accuracy before": ("accuracy_before", ""),
        "accuracy after": ("accuracy_after", "kept"),
        "distance travelled in training": ("distance_travelled", "≈ 160"),
        "distance moved after surgery": ("distance_moved", "≈ 0.5, 0.6"),
        "moved / travelled": ("moved_share", "≈ 0.003, 0.004"),
        "attention changed by (½ Σ_j of differences)": ("attention_change", ""),
        "… on a scale (distance from uniform) of": ("attention_scale", ""),
    }
    rows = [[title, *mean(field), published] for title, (field, published) in titles.items()]
    kept = [_count([r.scores_after for r in stayed[n]]) for n in RESTRICTED]
    keep_table(
        "counting",
        "surgery",
        ["", *RESTRICTED, "published"],
        [*rows, ["verdicts after", *kept, ""]],
        command=COMMAND,
        note="",
    )


def _to_itself(run: Run) -> tuple[Any, Any]:
    """Mean attention of a letter that occurs again: to its own place, and to each other one."""
    validation = np.asarray(all_data(run.experiment).validation)
    own, other = [], []
    for s, ids in enumerate(validation):
        ids = ids[:2000]
        A = np.asarray(attention(seed_weights(run, s), ids, run.experiment.mechanism))
        equal = (ids[:, :, None] == ids[:, None, :]) & ~np.eye(ids.shape[1], dtype=bool)
        again = equal.any(-1)
        own.append(float(np.diagonal(A, axis1=1, axis2=2)[again].mean()))
        other.append(float(A[equal].mean()))
    return over_seeds(own), over_seeds(other)


def _short(share: Any) -> str:
    """A share that is exact to six digits needs no more of them."""
    return f"{abs(share.value):.6f}" if share.error < 1e-5 else str(share)


def _count(found: list[Any]) -> str:
    """How many have which verdict."""
    words = [each.verdict for each in found]
    return ", ".join(f"{words.count(w)} of {len(words)} {w}" for w in dict.fromkeys(words))


if __name__ == "__main__":
    run(*sys.argv[1:])
