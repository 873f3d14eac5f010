"""Lowest and reached minima against training: the tables of the documentation, each point kept as
soon as it is there.

    python -m benchmarks.reached table           both theories, and training extrapolated in 1/d
    python -m benchmarks.reached coverage        are the error bars of default solves right?
    python -m benchmarks.reached transitions     α_c and α_l of both theories
    python -m benchmarks.reached crossing        where trained losses cross, seed by seed
    python -m benchmarks.reached microscopic     which minimum do the samples of trained models sit in?
    python -m benchmarks.reached messages        does message passing end where training does?
    python -m benchmarks.reached page            writes the tables of the documentation from what is there
    python -m benchmarks.reached cost            a reached solve against one of the lowest minima, in one run

Results are read from and written to docs/results/reached.json; what is there is not computed again.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dotphase.results import Estimate, at_infinite_size

RESULTS = Path(__file__).parent.parent / "docs" / "results" / "reached.json"
SEEDS = {250: 64, 500: 48, 1000: 24, 2000: 12}  # of training, by d
NODES, NODE_SETS = 2**16, 3
OBSERVABLES = ("test_error", "train_loss", "q", "m", "theta")


def gaussian_kernel(h, width):
    """Attention that decays with the distance of fields."""
    import jax.numpy as jnp

    squared = ((h[:, None] - h[None]) ** 2).sum(-1)
    weights = jnp.exp(-squared / (2 * width**2))
    return weights / weights.sum(1, keepdims=True)


def points() -> dict[str, tuple[Any, str]]:
    """Scenarios and starts, by name."""
    import dotphase as dp

    A3 = [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]]
    three = lambda alpha, omega=0.3: dp.Scenario(
        dp.attentions.mixture(A3, omega),
        dp.attentions.softmax(1),
        dp.scenario.isotropic(3, 0.5),
        dp.Positions([[1.0, 0.0, -1.0]]),
        alpha,
        0.01,
    )
    kinds = dp.paper(1.0, 0.3).vary(
        tokens=dp.Tokens([[0.1, 0.1], [0.4, 0.4]], [0.5, 0.5]),
        positions=dp.Positions([[1.0, -1.0], [1.0, -1.0]]),
    )
    linear = dp.paper(1.0, 0.3).vary(
        teacher=dp.attentions.mixture([[0.6, 0.4], [0.4, 0.6]], 0.3, dp.attentions.linear(1)),
        student=dp.attentions.linear(1),
        ridge=0.02,
    )
    untied = dp.paper(2.0, 0.3).vary(student=dp.attentions.softmax(1, tied=False))
    kernel = dp.paper(2.0, 0.3).vary(student=dp.Attention(gaussian_kernel, 1, {"width": 0.8}))
    return {
        "paper, positional, α = 2": (dp.paper(2.0, 0.3), "positional"),
        "paper, positional, α = 1.25": (dp.paper(1.25, 0.3), "positional"),
        "paper, semantic, α = 1": (dp.paper(1.0, 0.3), "semantic"),
        "paper, semantic, α = 0.75": (dp.paper(0.75, 0.3), "semantic"),
        "paper, semantic, α = 0.5": (dp.paper(0.5, 0.3), "semantic"),
        "three tokens, semantic, α = 1": (three(1.0), "semantic"),
        "three tokens, positional, α = 2": (three(2.0), "positional"),
        "three tokens, positional, α = 1, ω = 0.6": (three(1.0, 0.6), "positional"),
        "rank two, both mechanisms, α = 1": (dp.paper(1.0, 0.3, student_rank=2), "semantic"),
        "untied, semantic, α = 2": (untied, "semantic"),
        "two kinds of direction, semantic, α = 1": (kinds, "semantic"),
        "linear, semantic, α = 1": (linear, "semantic"),
        "Gaussian kernel, positional, α = 2": (kernel, "positional"),
        "Gaussian kernel, semantic, α = 2": (kernel, "semantic"),
    }


def table(results: dict) -> None:
    from dotphase.theory.solver.starts import both_mechanisms

    for name, (scenario, start) in points().items():
        row = results.setdefault("table", {}).setdefault(name, {})
        begin = both_mechanisms(scenario) if "both" in name else start
        fill(row, scenario, start, SEEDS, lambda: _keep(results), begin)
        _show(name, row)


def fill(
    row: dict,
    scenario,
    start: str,
    seeds: dict[int, int],
    keep: Callable[[], None],
    begin: Any = None,
) -> None:
    """Both theories, training at the sizes of `seeds`, and its limit, as far as they are not in
    `row`.

    `begin`: where the theory starts, if not where training does. `keep()` is called after each.
    """
    for minimum in ("lowest", "reached"):
        if minimum not in row:
            row[minimum] = _theory(scenario, start if begin is None else begin, minimum)
            keep()
    for d, count in seeds.items():
        if str(d) not in row.setdefault("training", {}):
            row["training"][str(d)] = _trained(scenario, d, start, count)
            keep()
    row["limit"] = {key: _limit(row["training"], key) for key in OBSERVABLES}
    keep()


def _theory(scenario, start, minimum: str) -> dict:
    import dotphase
    from dotphase.comparison.compare import theory_value

    rules = [dotphase.Sobol(NODES, seed=seed) for seed in range(NODE_SETS)]
    found = [
        dotphase.solve(scenario, start, rule=rule, rtol=None, minimum=minimum) for rule in rules
    ]
    answer: dict[str, Any] = {"outcome": found[0].outcome, "reason": found[0].reason}
    answer |= {"several_minima": found[0].several_minima, "higher_minima": found[0].higher_minima}
    usable = [solution for solution in found if solution.outcome in ("converged", "imprecise")]
    for key in OBSERVABLES if usable else ():
        each = [theory_value(solution, key) for solution in usable]
        # Errors of independent node sets, each with its own.
        error = float(np.sqrt(sum(e.error**2 for e in each)) / len(each))
        answer[key] = [float(np.mean([e.value for e in each])), error]
    return answer


def _trained(scenario, d: int, start: str, seeds: int) -> dict:
    import dotphase

    runs = dotphase.train(scenario, d, start, seeds=seeds)
    adjusted = {key: runs.adjusted(key) for key in OBSERVABLES}
    return {key: [mean.value, mean.error] for key, mean in adjusted.items()} | {
        "outcome": runs.outcomes
    }


def _limit(training: dict, key: str) -> list[float]:
    sizes = sorted(map(int, training))
    limit = at_infinite_size(sizes, [Estimate(*training[str(d)][key]) for d in sizes])
    return [limit.value, limit.error]


def _show(name: str, row: dict) -> None:
    print(name, flush=True)
    for key in OBSERVABLES:
        value, error = row["limit"][key]
        cells = [f"training {value:.6f} ± {error:.6f}"]
        for minimum in ("lowest", "reached"):
            theory = row[minimum].get(key)
            if theory is None:
                cells.append(f"{minimum}: {row[minimum]['outcome']}")
            elif theory[0] != 0:
                z = (value - theory[0]) / np.hypot(error, theory[1])
                cells.append(f"{minimum} {theory[0]:.6f} ± {theory[1]:.6f} (z {z:+.1f})")
        print(f"  {key:<11}{'   '.join(cells)}", flush=True)


def coverage(results: dict) -> None:
    import dotphase

    kept = results.setdefault("coverage", {})
    for start, alpha, omega in (
        ("semantic", 1.25, 0.3),
        ("semantic", 1.2, 0.2),
        ("positional", 2.0, 0.3),
    ):
        for minimum in ("lowest", "reached"):
            name = f"{minimum}, {start}, α = {alpha:g}, ω = {omega:g}"
            if name in kept:
                continue
            scenario = dotphase.paper(alpha, omega)
            solved = partial(dotphase.solve, scenario, start, minimum=minimum)
            truth = [solved(rule=dotphase.Sobol(2**17, seed=1000 + k), rtol=None) for k in range(8)]
            found = [solved(rule=dotphase.Sobol(2**13, seed=k), rtol=5e-3) for k in range(24)]
            kept[name] = {}
            for key in ("test_error", "train_loss"):
                exact = [float(getattr(s, key)) for s in truth]
                spread = np.std(exact, ddof=1) / np.sqrt(len(exact))
                truth_here = dotphase.Estimate(np.mean(exact), spread)
                z = np.array([getattr(solution, key).deviation(truth_here) for solution in found])
                kept[name][key] = {
                    "rms_z": float(np.sqrt((z**2).mean())),
                    "beyond_two": int((np.abs(z) > 2).sum()),
                }
            _keep(results)
            print(name, kept[name], flush=True)


def transitions(results: dict) -> None:
    import dotphase

    kept = results.setdefault("transitions", {})
    for omega in (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45):
        for kind in ("train-loss", "linear"):
            for minimum in ("lowest", "reached"):
                name = f"{kind}, {minimum}, ω = {omega:g}"
                if name in kept:
                    continue
                rules = [dotphase.Sobol(2**13, seed=100 * seed) for seed in range(3)]
                options = {"minimum": minimum, "precision": 4e-3, "budget": 2**16}
                found = [
                    dotphase.critical(dotphase.paper(omega=omega), kind, rule=rule, **options)
                    for rule in rules
                ]
                places = [t.location for t in found if np.isfinite(t.location.value)]
                value = (
                    [float(np.mean([p.value for p in places])), _together(places)]
                    if places
                    else None
                )
                kept[name] = {
                    "location": value,
                    "outcomes": [t.outcome for t in found],
                    "reason": found[0].reason,
                }
                _keep(results)
                print(name, kept[name], flush=True)


def _together(places) -> float:
    """The error of a mean over independent node sets: from their own errors, or their scatter,
    whichever is larger."""
    own = np.sqrt(sum(p.error**2 for p in places)) / len(places)
    scatter = (
        np.std([p.value for p in places], ddof=1) / np.sqrt(len(places)) if len(places) > 2 else 0.0
    )
    return float(max(own, scatter))


def crossing(results: dict) -> None:
    """Where the losses trained from both starts cross, from differences seed by seed at a few α
    around."""
    import dotphase

    kept = results.setdefault("crossing", {})
    for d, omegas in ((2000, (0.3, 0.2, 0.1, 0.4)), (1000, (0.1, 0.2, 0.3, 0.4, 0.05, 0.45))):
        for omega in omegas:
            name = f"d = {d}, ω = {omega:g}"
            if name in kept:
                continue
            near = results["transitions"][f"train-loss, reached, ω = {omega:g}"]["location"][0]
            alphas, rows = [near * f for f in (0.94, 1.0, 1.06)], []
            for alpha in alphas:
                losses = [
                    dotphase.train(dotphase.paper(alpha, omega), d, start, seeds=24).values(
                        "train_loss"
                    )
                    for start in ("semantic", "positional")
                ]
                rows.append(np.subtract(*losses))
            each = np.array(rows)  # (α, seed)
            slope, intercept = np.polyfit(alphas, each.mean(1), 1)
            per_seed = alphas[1] - each.mean(0) / slope
            kept[name] = {
                "location": float(-intercept / slope),
                "error": float(per_seed.std(ddof=1) / np.sqrt(24)),
            }
            _keep(results)
            print(name, kept[name], flush=True)


def microscopic(results: dict) -> None:
    """The share of samples that are not in their lowest minimum: in trained models, and in the
    theory."""
    import dotphase
    from dotphase.finite.data.instance import Instance
    from dotphase.finite.sample_minima import cavity
    from dotphase.finite.training.objective import Objective

    kept, d, seeds = results.setdefault("microscopic", {}), 2000, 3
    cases = [("positional", alpha) for alpha in (0.75, 1.25, 2.0)] + [
        ("semantic", alpha) for alpha in (0.5, 0.75, 1.0)
    ]
    for start, alpha in cases:
        name = f"{start}, α = {alpha:g}, d = {d}"
        if name in kept:
            continue
        scenario = dotphase.paper(alpha, 0.3)
        runs = dotphase.train(scenario, d, start, seeds=seeds)
        shares = [
            cavity(
                Objective(dotphase.sample(Instance(scenario, d, run.seed))), run.weights
            ).higher.mean()
            for run in runs.runs
        ]
        theory = dotphase.solve(
            scenario, start, rule=dotphase.Sobol(2**15), rtol=None, minimum="reached"
        )
        # Samples are counted: of n·seeds of them, so the error of a small share is that of a count.
        count = seeds * round(alpha * d)
        error = float(np.sqrt(max(np.mean(shares), 1 / count) / count))
        kept[name] = {"trained": [float(np.mean(shares)), error], "theory": theory.higher_minima}
        _keep(results)
        print(name, kept[name], flush=True)


def messages(results: dict) -> None:
    """How often message passing ends in the very minimum L-BFGS reaches from the same start."""
    import dotphase

    kept = results.setdefault("messages", {})
    for d, seeds in ((500, 8), (1000, 6)):
        for start, alpha in (("positional", 2.0), ("semantic", 0.75)):
            scenario = dotphase.paper(alpha, 0.3)
            trained = dotphase.train(scenario, d, start, seeds=seeds)
            for minimum in ("lowest", "reached"):
                name = f"{start}, α = {alpha:g}, d = {d}, {minimum}"
                if name in kept:
                    continue
                passed = dotphase.gamp(scenario, d, start, seeds=seeds, minimum=minimum)
                same = 0
                for one, other in zip(passed.runs, trained.runs, strict=True):
                    if one.weights is not None and one.outcome == "converged":
                        apart = min(
                            np.abs(one.weights - sign * other.weights).max() for sign in (1, -1)
                        )
                        same += bool(apart < 1e-4 * np.abs(other.weights).max())
                kept[name] = {"same": same, "of": seeds, "outcomes": passed.outcomes}
                _keep(results)
                print(name, kept[name], flush=True)


def cost(results: dict) -> None:
    import dotphase

    for start, alpha in (("semantic", 2.0), ("positional", 2.0), ("semantic", 1.0)):
        seconds: dict[str, list[float]] = {"lowest": [], "reached": []}
        for seed in range(12):
            for minimum, taken in seconds.items():
                began = time.process_time()
                dotphase.solve(
                    dotphase.paper(alpha, 0.3),
                    start,
                    rule=dotphase.Sobol(2**13, seed=seed),
                    rtol=None,
                    minimum=minimum,
                )
                taken.append(time.process_time() - began)
        lowest, reached = (float(np.median(taken[2:])) for taken in seconds.values())
        row = {"lowest": lowest, "reached": reached, "ratio": reached / lowest}
        results.setdefault("cost", {})[f"{start}, α = {alpha:g}"] = row
        print(start, alpha, row, flush=True)
    _keep(results)


def page(results: dict) -> None:
    """The tables of docs/minima.md and docs/transitions.md, from the results alone."""
    docs = RESULTS.parent.parent
    _put(docs / "minima.md", "table", _training_lines(results["table"]))
    _put(docs / "minima.md", "samples", _sample_lines(results))
    _put(docs / "transitions.md", "lines", _transition_lines(results))


def _put(page: Path, name: str, lines: list[str]) -> None:
    """Lines between the marks of that name on a page."""
    first, last = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    before, _, rest = page.read_text(encoding="utf-8").partition(first)
    _, _, after = rest.partition(last)
    page.write_text(before + first + "\n".join(lines) + "\n" + last + after, encoding="utf-8")


def _training_lines(rows: dict) -> list[str]:
    lines = [
        "| | | training, d → ∞ | reached | s.e. | lowest | s.e. |",
        "|---|---|---|---|---|---|---|",
    ]
    symbols = {
        "test_error": "ε_g",
        "train_loss": "ε_t",
        "q": "q",
        "m": "\\|m\\|",
        "theta": "\\|θ\\|",
    }
    deviations: dict[str, list[float]] = {"reached": [], "lowest": []}
    for name, row in rows.items():
        label = name
        for key in OBSERVABLES:
            if not any(row[minimum].get(key, [0])[0] for minimum in deviations):
                continue
            trained, cells = _estimate(row["limit"][key]), []
            for minimum, found in deviations.items():
                theory = row[minimum].get(key)
                if theory is None or theory[0] == 0:
                    cells += [row[minimum]["outcome"] if theory is None else "0", ""]
                    continue
                found.append(float(trained.deviation(_estimate(theory))))
                cells += [f"{_estimate(theory):()}", f"{found[-1]:+.1f}"]
            lines.append(f"| {label} | {symbols[key]} | {trained:()} | {' | '.join(cells)} |")
            label = ""
    for minimum, found in deviations.items():
        within = sum(abs(z) < 3 for z in found)
        lines += [
            "",
            f"Within three standard errors of the {minimum} theory: {within} of {len(found)} entries.",
        ]
    return lines


def _sample_lines(results: dict) -> list[str]:
    lines = [
        "| samples not in their lowest minimum | in trained models | in the theory |",
        "|---|---|---|",
    ]
    for name, row in results["microscopic"].items():
        lines.append(
            f"| {name} | {100 * _estimate(row['trained']):()} % | {100 * row['theory']:.2f} % |"
        )
    lines += ["", "| message passing ends in the very minimum L-BFGS reaches | |", "|---|---|"]
    return lines + [
        f"| {name} | {row['same']} of {row['of']} |" for name, row in results["messages"].items()
    ]


def _transition_lines(results: dict) -> list[str]:
    published = {0.1: (0.707, 0.851), 0.2: (0.928, 1.071), 0.3: (1.241, 1.451), 0.4: (1.751, None)}
    titles = ("ω", "α_c, lowest", "α_c, reached", "trained losses cross", "published")
    titles += ("α_l, lowest", "α_l, reached", "published")
    head = "| " + " | ".join(titles) + " |"
    lines = [head, "|---|---|---|---|---|---|---|---|"]
    for omega in (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45):
        at = {
            (kind, minimum): str(
                _estimate(results["transitions"][f"{kind}, {minimum}, ω = {omega:g}"]["location"])
            )
            for kind in ("train-loss", "linear")
            for minimum in ("lowest", "reached")
        }
        crossings = [
            f"{_estimate([row['location'], row['error']])} ({name.split(',')[0]})"
            for name, row in results["crossing"].items()
            if name.endswith(f"ω = {omega:g}")
        ]
        printed = [str(value or "") for value in published.get(omega, (None, None))]
        cells = [
            f"{omega:g}",
            at["train-loss", "lowest"],
            at["train-loss", "reached"],
            "; ".join(crossings),
            printed[0],
        ]
        cells += [at["linear", "lowest"], at["linear", "reached"], printed[1]]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _estimate(pair: list[float]):
    from dotphase import Estimate

    return Estimate(*pair)


def _keep(results: dict, path: Path = RESULTS) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    fresh.replace(path)


def main(chosen: list[str]) -> None:
    tasks = {"table": table, "coverage": coverage, "transitions": transitions, "crossing": crossing}
    tasks |= {"microscopic": microscopic, "messages": messages, "cost": cost, "page": page}
    for name in chosen or tasks:
        results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
        tasks[name](results)


if __name__ == "__main__":
    main(sys.argv[1:])
