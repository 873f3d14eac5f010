"""Computations that cost nothing, and some that go wrong on purpose."""

import os
import signal
import time

from dotphase.studies.run.runner import run_study as run_any_sweep
from dotphase.studies.study.computation import Computation
from dotphase.studies.study.layout import Variable
from dotphase.studies.study.study import study_from


class Toy(Computation):
    """value = α·seed, per seed; fails where α is `fails_at`, kills its process where α is
    `kills_at`, and hangs where it is `hangs_at`."""

    growing = ("seeds",)

    seeds: int = 2
    batch: int = 1
    fails_at: float | None = None
    kills_at: float | None = None
    hangs_at: float | None = None
    takes: float = 0.0

    def coordinates(self):
        return {"seed": range(self.seeds)}

    def variables(self):
        return {
            "value": Variable(("seed",)),
            "word": Variable((), "str"),
            "square": Variable(("seed",), "i8"),
        }

    def unit(self, axes):
        return {axes[-1]: self.batch} if axes else {}

    def compute_point(self, point):
        alpha = point.scenario.sample_ratio
        if alpha == self.fails_at and not os.path.exists("mended"):
            raise RuntimeError("on purpose\nin two lines")
        if alpha == self.kills_at:
            os.kill(os.getpid(), signal.SIGKILL)
        if alpha == self.hangs_at:
            time.sleep(60)
        time.sleep(self.takes)
        seeds = point.own["seed"]
        return {
            "value": [alpha * s for s in seeds],
            "word": f"α = {alpha:g}",
            "square": [s * s for s in seeds],
        }


class InThreads(Toy):
    place = "threads"


class Reader(Computation):
    """What a toy found at the same ω, summed over the α it has and this has not."""

    place = "threads"

    def depends_on(self, axes, scenario):
        return tuple(axis for axis in axes if axis != "alpha")

    def needs(self):
        return ("toy",)

    def variables(self):
        return {"total": Variable()}

    def compute_point(self, point):
        return {"total": point.known["toy"]["value"].sum()}


def toy_study(alphas, name="Toy", **parameters):
    table = {"kind": f"toy_computations:{name}", **parameters}
    return {
        "name": "toys",
        "axes": {"omega": [0.1, 0.2], "alpha": list(alphas)},
        "compute": {"toy": table},
    }


def run_study(study, path, **options):
    """As the real one, for studies that are trusted to name kinds of this file."""
    return run_any_sweep(study, path, trust_code=True, **options)


def trusted(tables):
    return study_from(tables, trust_code=True)
