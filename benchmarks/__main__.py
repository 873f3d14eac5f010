"""`make bench`: every benchmark, one after the other, alone on the machine."""

from __future__ import annotations

import sys
from importlib import import_module

NAMES = ("theory", "finite", "counting", "sweeps")


def main(chosen: list[str]) -> None:
    for name in chosen or NAMES:
        print(f"== {name}", flush=True)
        import_module(f"benchmarks.{name}").run()


if __name__ == "__main__":
    main(sys.argv[1:])
