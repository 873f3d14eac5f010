"""How far to trust dotphase: every claim, its evidence, the deviation in standard errors, and the command that recomputes it.

    python -m benchmarks.validation        the page, from the stored results in docs/results

Nothing is computed here. What is stored was written by the commands that stand beside it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dotphase import Estimate

RESULTS = Path(__file__).parent.parent / "docs" / "results"
SYMBOLS = {"test_error": "ε_g", "train_loss": "ε_t", "q": "q", "m": "|m|", "theta": "|θ|"}
MANY = 3  # standard errors, beyond which a deviation is printed in bold


@dataclass(frozen=True)
class Claim:
    """Two numbers that should be the same: what is claimed and what was found, and how to find it again."""

    what: str
    expected: Estimate
    found: Estimate
    command: str

    @property
    def deviation(self) -> float | None:
        """(found − expected) in standard errors, those that are known added in squares."""
        both = self.found.deviation(self.expected)
        return float(both) if abs(float(both)) < float("inf") and both == both else None

    def cells(self) -> list[str]:
        """A row of the table."""
        z = self.deviation
        shown = "all digits" if z is None else f"**{z:+.1f}**" if abs(z) > MANY else f"{z:+.1f}"
        return [self.what, str(self.expected), str(self.found), shown, f"`{self.command}`"]


def stored(name: str) -> Any:
    """The stored results of a name."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def as_estimate(text: str) -> Estimate:
    """`0.23 ± 0.03` or `0.0012(3)`, as tables have them."""
    if "±" in text:
        value, error = text.split("±")
        return Estimate(float(value), float(error))
    digits, uncertain = re.fullmatch(r"([\d.]+)\((\d+)\)", text.strip()).groups()  # type: ignore[union-attr]
    return Estimate(float(digits), int(uncertain) * 10.0 ** -len(digits.partition(".")[2]))


def _known(pair: list[float | None]) -> Estimate:
    return Estimate(pair[0], pair[1] or 0.0)


def published() -> Iterator[Claim]:
    """What the paper printed, beside ours."""
    from dotphase.figures.phase_diagrams import PUBLISHED_LINES

    lines = stored("reached")["transitions"]
    for kind, (letters, values) in PUBLISHED_LINES.items():
        for omega, value in values.items():
            ours = Estimate(*lines[f"{kind}, lowest, ω = {omega:g}"]["location"])
            yield Claim(f"{letters} at ω = {omega:g}", Estimate(value, 0.0), ours, "python -m benchmarks.reached transitions")
    for claim in stored("published")["claims"]:
        yield Claim(claim["what"], _known(claim["published"]), _known(claim["ours"]), claim["command"])


def training() -> Iterator[Claim]:
    """The theory of reached minima against training, extrapolated in 1/d: of every point the entry that is furthest off."""
    for point, row in stored("reached")["table"].items():
        claims = [
            Claim(f"{point}: {SYMBOLS[key]}", Estimate(*row["reached"][key]), Estimate(*row["limit"][key]), "python -m benchmarks.reached table")
            for key in SYMBOLS
            if row["reached"].get(key, [0])[0]
        ]
        yield max(claims, key=lambda claim: abs(claim.deviation or 0))


def crossings() -> Iterator[Claim]:
    """Where the losses of trained networks cross, against α_c of the reached theory."""
    results = stored("reached")
    for name, row in results["crossing"].items():
        theory = results["transitions"][f"train-loss, reached, {name.split(', ')[1]}"]["location"]
        found = Estimate(row["location"], row["error"])
        yield Claim(f"trained losses cross, {name}", Estimate(*theory), found, "python -m benchmarks.reached crossing")


def messages() -> Iterator[Claim]:
    """Message passing in the Bayes-optimal setting, against its state evolution."""
    for alpha, seeds, found, limit, _ in stored("bayes")["tables"]["messages"]["rows"]:
        command = f"dotphase bayes --alpha {alpha} --d 2000 --seeds {seeds}"
        yield Claim(f"Bayes-optimal ε at α = {alpha}, d = 2000", as_estimate(limit), as_estimate(found), command)


GROUPS = {
    "training": ("Reached theory and training", training, "theory (reached)", "training, d → ∞"),
    "crossings": ("Where trained losses cross", crossings, "theory (reached)", "training"),
    "messages": ("Message passing and state evolution", messages, "theory", "messages"),
    "published": ("Published numbers", published, "published", "ours"),
}


def table(group: str) -> str:
    """The claims of a group as a table of Markdown."""
    _, make, expected, found = GROUPS[group]
    rows = [claim.cells() for claim in make()]
    line = lambda cells: "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
    return "\n".join([line(["", expected, found, "s.e.", "recomputed by"]), "|---" * 5 + "|", *map(line, rows)]) + "\n"


def summary() -> str:
    """In one line per group: how many claims, and how many hold."""
    lines = []
    for name, (title, make, *_) in GROUPS.items():
        z = [abs(claim.deviation) for claim in make() if claim.deviation is not None]
        lines.append(f"| [{title}](#{name}) | {len(z)} | {sum(each < MANY for each in z)} | {max(z):.1f} |")
    return "\n".join(["| | claims | within three standard errors | largest deviation |", "|---|---|---|---|", *lines]) + "\n"


PAGE = """# Validation

How far to trust dotphase: each claim with its evidence, the deviation in standard errors and the command that recomputes it. This page is made by
`python -m benchmarks.validation` from what those commands stored in `docs/results`.

{summary}
(training)=
## Reached theory and training

Fixed points of the theory of {{term}}`reached` minima, against L-BFGS at d = 250 … 2000 extrapolated in 1/d, for several students, ranks, lengths and spectra. Of every point the entry
that is furthest off; [all entries](../minima.md), with the {{term}}`lowest` theory beside them. In bold what is beyond three standard errors: at that point training leaves the positional mechanism for the semantic one.

{training}
(crossings)=
## Where trained losses cross

Not extrapolated in d; 24 seeds at three α each, difference seed by seed.

{crossings}
(messages)=
## Message passing and state evolution

{messages}
State evolution is also followed iterate by iterate, for general students: [the figure](#figure-message-passing), and `tests/agreement`.

(published)=
## Published numbers

The published transitions come without errors, from a rule of 144 nodes: deviations of many standard errors are those of that rule ([why](../explanation/published.md)). The published experiments agree.

{published}
## Error bars

Default solves, 24 seeds each, against averages over eight sets of 2^17 nodes: the root mean square of the deviation in units of the quoted error. One is honest, below one is cautious.

{coverage}
Recomputed by `python -m benchmarks.reached coverage`.

## Closed forms and identities

| | held to | recomputed by |
|---|---|---|
{identities}

## Stores

Faults made at random, and what the same command gives afterwards compared bit by bit with an undisturbed run.

{faults}
Recomputed by `{faults_command}`.

## What is not settled

- Where many samples change basin on the way, neither theory is exact: for one token and linear attention training lies between the two ([lowest and reached](../minima.md)).
- Ends of branches, onsets of instability and the replicon are rough: few samples near a jump decide them, and their errors are scatter over four node sets ([transitions](../transitions.md)).
- Replica symmetry is broken wherever the prox jumps; by how much in energy is below what can be seen ([breaking](../explanation/breaking.md)).
"""
IDENTITIES = {
    "one linear token is ridge regression, for any spectrum": ("1e-6", "python -m pytest tests/identities/test_closed_forms.py"),
    "a wrong sign or factor in one equation is noticed": ("fails", "python -m pytest tests/identities -k wrong"),
    "the ridge derivative of the training loss is half the norm": ("differences", "python -m pytest tests/identities -k derivative"),
    "a student that cannot learn keeps its attention; a huge ridge leaves it uniform": ("1e-6", "python -m pytest tests/identities -k 'huge or cannot'"),
    "rotating the student's columns changes nothing observable": ("rounding", "python -m pytest tests/identities/test_general_models.py"),
}


def page() -> str:
    """The whole page."""
    coverage = stored("reached")["coverage"]
    rows = [f"| {name} | {row['test_error']['rms_z']:.2f} | {row['train_loss']['rms_z']:.2f} |" for name, row in coverage.items()]
    faults = stored("sweeps")["tables"]["faults"]
    return PAGE.format(
        summary=summary(),
        **{name: table(name) for name in GROUPS},
        coverage="\n".join(["| | ε_g | ε_t |", "|---|---|---|", *rows]) + "\n",
        identities="\n".join(f"| {what} | {held} | `{command}` |" for what, (held, command) in IDENTITIES.items()),
        faults="\n".join("| " + " | ".join(row) + " |" for row in (faults["columns"], ["---"] * len(faults["columns"]), *faults["rows"])) + "\n",
        faults_command=faults["command"],
    )


if __name__ == "__main__":
    print(page())
