"""How far to trust dotphase: claims, evidence, deviations in standard errors, and the commands that
recompute them.

    python -m benchmarks.validation        the tables of the page of that name, from the stored results in docs/results

Nothing is computed here. The stored results were written by the commands below each table.
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
    """Two numbers that should be the same: what is claimed and what was found, and how to find it
    again."""

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
        numbers = [
            str(number).replace(" ", "\N{NO-BREAK SPACE}") for number in (self.expected, self.found)
        ]
        return [self.what, *numbers, shown]


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
    from dotphase.figures.paper.phase_diagrams import PUBLISHED_LINES

    lines = stored("reached")["transitions"]
    for kind, (letters, values) in PUBLISHED_LINES.items():
        for omega, value in values.items():
            ours = Estimate(*lines[f"{kind}, lowest, ω = {omega:g}"]["location"])
            yield Claim(
                f"{letters} at ω = {omega:g}",
                Estimate(value, 0.0),
                ours,
                "python -m benchmarks.reached transitions",
            )
    for claim in stored("published")["claims"]:
        yield Claim(
            claim["what"], _known(claim["published"]), _known(claim["ours"]), claim["command"]
        )


def training() -> Iterator[Claim]:
    """The reached theory against training, extrapolated in 1/d."""
    yield from _furthest(stored("reached")["table"], "python -m benchmarks.reached table")


def tokens() -> Iterator[Claim]:
    """The same for correlated tokens and random scales."""
    for section, points in stored("tokens").items():
        yield from _furthest(points, f"python -m benchmarks.tokens {section}")


def _furthest(points: dict[str, Any], command: str) -> Iterator[Claim]:
    """Of every point the entry that is furthest off."""
    for point, row in points.items():
        claims = [
            Claim(
                f"{point}: {SYMBOLS[key]}",
                Estimate(*row["reached"][key]),
                Estimate(*row["limit"][key]),
                command,
            )
            for key in SYMBOLS
            if row["reached"].get(key, [0])[0]
        ]
        yield max(claims, key=lambda claim: abs(claim.deviation or 0))


def first_order() -> Iterator[Claim]:
    """The theory at finite d against training at that d."""
    table = stored("first_order")["tables"]["semantic"]
    for positions, d, symbol, trained, _, _, theory, _ in table["rows"]:
        what = f"{symbol}, positions {positions}, d = {d}"
        yield Claim(what, as_estimate(theory), as_estimate(trained), table["command"])


def words() -> Iterator[Claim]:
    """Training on real words against training on Gaussian tokens of the same covariances and
    lengths."""
    known = stored("text")
    for length in (2, 3):
        for start in ("semantic", "positional"):
            entry = known[f"L = {length}, as they are, {start}"]
            expected, found = (entry[source]["test_error"] for source in ("scaled", "sentences"))
            pairs = [Estimate(each["value"], each["error"]) for each in (expected, found)]
            yield Claim(f"ε_g, {length} words, {start}", *pairs, "python -m benchmarks.text table")


def crossings() -> Iterator[Claim]:
    """Where the losses of trained networks cross, against α_c of the reached theory."""
    results = stored("reached")
    for name, row in results["crossing"].items():
        theory = results["transitions"][f"train-loss, reached, {name.split(', ')[1]}"]["location"]
        found = Estimate(row["location"], row["error"])
        yield Claim(
            f"trained losses cross, {name}",
            Estimate(*theory),
            found,
            "python -m benchmarks.reached crossing",
        )


def messages() -> Iterator[Claim]:
    """Message passing in the Bayes-optimal setting, against its state evolution."""
    for alpha, seeds, found, limit, _ in stored("bayes")["tables"]["messages"]["rows"]:
        command = "dotphase bayes --alpha ALPHA --d 2000 --seeds SEEDS"
        yield Claim(
            f"Bayes-optimal ε at α = {alpha}, d = 2000, {seeds} seeds",
            as_estimate(limit),
            as_estimate(found),
            command,
        )


GROUPS = {
    "training": ("Reached theory and training", training, "theory (reached)", "training, d → ∞"),
    "tokens": (
        "Correlated tokens and random lengths",
        tokens,
        "theory (reached)",
        "training, d → ∞",
    ),
    "first_order": ("The theory at finite d", first_order, "theory at d", "training at d"),
    "words": ("Real words", words, "Gaussian tokens with lengths", "real words"),
    "crossings": ("Where trained losses cross", crossings, "theory (reached)", "training"),
    "messages": ("Message passing and state evolution", messages, "theory", "messages"),
    "published": ("Published numbers", published, "published", "ours"),
}


IDENTITIES = {
    "one linear token is ridge regression, for any spectrum": (
        "1e-6",
        "tests/identities -k ridge_regression",
    ),
    "a student that cannot learn keeps its attention": (
        "four standard errors",
        "tests/identities -k cannot",
    ),
    "a huge ridge leaves uniform attention": ("four standard errors", "tests/identities -k huge"),
    "dε_t/dλ is half the squared norm of the weights": ("1e-5", "tests/identities -k derivative"),
    "rotating the student's columns changes nothing observable": (
        "four standard errors",
        "tests/identities -k rotating",
    ),
    "the linear baseline of the paper's task is the published one": (
        "1e-7",
        "tests/identities -k baseline",
    ),
    "a wrong sign or factor in one equation fails these tests": (
        "each tried",
        "tests/identities -k wrong",
    ),
}


def coverage() -> Iterator[list[str]]:
    """Root mean square deviations of default solves from the truth, in units of the errors they
    quote."""
    yield ["scenario", "deviation of ε_g / quoted error", "deviation of ε_t / quoted error"]
    for name, row in stored("reached")["coverage"].items():
        yield [name, f"{row['test_error']['rms_z']:.2f}", f"{row['train_loss']['rms_z']:.2f}"]


def identities() -> Iterator[list[str]]:
    """What holds exactly, and the tests that say so."""
    yield ["identity", "largest deviation allowed", "word of the test (`-k`)"]
    for what, (held, tests) in IDENTITIES.items():
        yield [what, held, f"`{tests.partition(' -k ')[2]}`"]


def claims(group: str) -> Iterator[list[str]]:
    """The claims of a group, as rows."""
    _, make, expected, found = GROUPS[group]
    yield ["quantity", expected, found, "deviation (standard errors)"]
    yield from (claim.cells() for claim in make())


def summary() -> Iterator[list[str]]:
    """In one row per group: how many claims, and how many hold."""
    yield [
        "table",
        "claims",
        f"within {MANY} standard errors",
        "largest deviation (standard errors)",
    ]
    for title, make, *_ in GROUPS.values():
        z = [abs(claim.deviation) for claim in make() if claim.deviation is not None]
        yield [
            f"[{title}](#{title.lower().replace(' ', '-')})",
            str(len(z)),
            str(sum(each < MANY for each in z)),
            f"{max(z):.1f}",
        ]


def commands(name: str) -> str:
    """What recomputes a table, in one line."""
    if name == "summary":
        return ""
    if name == "coverage":
        found = ["python -m benchmarks.reached coverage"]
    elif name == "identities":
        found = ["python -m pytest tests/identities"]
    else:
        found = list(dict.fromkeys(claim.command for claim in GROUPS[name][1]()))
    return f"\nRecomputed by {', '.join(f'`{each}`' for each in found)}.\n"


def table(name: str) -> str:
    """A table of Markdown, and the command that recomputes it: `summary`, `coverage`, `identities`,
    or the claims of a group."""
    special = {"summary": summary, "coverage": coverage, "identities": identities}
    head, *rows = special[name]() if name in special else claims(name)
    line = lambda cells: "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
    return (
        "\n".join([line(head), "|" + "---|" * len(head), *map(line, rows)]) + "\n" + commands(name)
    )


if __name__ == "__main__":
    print(*(table(name) for name in ("summary", *GROUPS, "coverage", "identities")), sep="\n")
