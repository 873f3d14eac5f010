"""Learning curves: cost, the effect of `cut`, agreement with training, and what they are used for.

python -m benchmarks.curves [cost|ratio|cut|agreement|published|stopping|escape|one_token|aging …]

Tables go to docs/results/curves.json. All of them take about two hours on one core.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from dotphase.results import Estimate, at_infinite_size, over_seeds

from .stored import keep_table

COMMAND = "python -m benchmarks.curves"
HARD = {"alpha": 1.17, "omega": 0.3, "ridge": 0.001}


def cost() -> None:
    """Seconds of processor time for 100, 1000 and 5000 steps to time 750, and the number of modes."""
    import dotphase as dp

    rows = []
    for steps in (100, 1000, 5000):
        options = {"steps": steps, "step_size": 750 / max(steps, 1000), "d": 1000}
        dp.learning_curve(dp.paper(**HARD), "positional", **(options | {"steps": 2}))
        began = time.process_time()
        found = dp.learning_curve(dp.paper(**HARD), "positional", **options)
        rows.append([steps, f"{time.process_time() - began:.1f}", found.modes])
        print(*rows[-1], flush=True)
    columns = ("steps", "seconds", "modes")
    keep_table("curves", "cost", columns, rows, command=f"{COMMAND} cost", note="one core")


def ratio() -> None:
    """Processor time of training at d = 2000 for the error of the theory, and of the theory."""
    import dotphase as dp
    from dotphase.finite.training.optimisers import GradientDescent

    rows = []
    for start in ("semantic", "positional"):
        task = dp.paper(alpha=1.17, omega=0.3)
        options = {"step_size": 0.75, "d": 2000}
        dp.learning_curve(task, start, steps=2, **options)
        began = time.process_time()
        found = dp.learning_curve(task, start, steps=1000, **options)
        theory = time.process_time() - began
        began = time.process_time()
        method = GradientDescent(0.75, 1000, tolerance=1e-300)
        runs = dp.train(task, 2000, start, method, seeds=8)
        each = (time.process_time() - began) / 8
        for name in ("test_error", "train_loss"):
            error = getattr(found, name)[-1].error
            needed = 8 * float(getattr(runs, name).error / error) ** 2
            times = f"{needed * each / theory:.0f}×"
            rows.append([start, name, f"{theory:.1f}", f"{each:.1f}", f"{needed:.0f}", times])
            print(*rows[-1], flush=True)
    columns = ("start", "observable", "theory, s", "one run, s", "runs for its error", "ratio")
    note = "processor time in one run of this command; α = 1.17, ω = 0.3, λ = 0.01, 1000 steps"
    keep_table("curves", "ratio", columns, rows, command=f"{COMMAND} ratio", note=note)


def cut() -> None:
    """The end of the hardest curve for several cuts, on the same paths."""
    import dotphase as dp

    rows = []
    for size in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6):
        options = {"time": 750, "step_size": 0.75, "d": 1000, "paths": 8192, "cut": size}
        found = dp.learning_curve(dp.paper(**HARD), "positional", **options)
        ends = (found.q, found.m, found.train_loss, found.test_error)
        rows.append([f"{size:g}", found.modes, *(f"{end[-1]:()}" for end in ends)])
        print(*rows[-1], flush=True)
    columns = ("cut", "modes", "q", "m", "ε_t", "ε_g")
    keep_table("curves", "cut", columns, rows, command=f"{COMMAND} cut", note="")


def scenarios() -> dict:
    """Ten scenarios and starts."""
    import jax.numpy as jnp

    import dotphase as dp
    from dotphase import attentions
    from dotphase.learning import Start
    from dotphase.scenario import isotropic, positions_from_gram

    mixed = Start(0.5, 0.2, 0.3)
    A = [[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.2, 0.5]]
    gram = [[1, -0.3, 0.1], [-0.3, 1, 0.2], [0.1, 0.2, 0.8]]
    three = dp.Scenario(
        attentions.mixture(A, 0.3),
        attentions.softmax(1),
        isotropic(3, 0.5),
        positions_from_gram(gram),
        1.2,
        0.01,
    )
    bell = dp.Attention(lambda h: jnp.exp(-(((h - h.T) / 0.8) ** 2) / 2) / 2, rank=1)
    task = dp.paper(alpha=1.2, omega=0.3)
    return {
        "α = 0.6, semantic": (task.vary(alpha=0.6), "semantic"),
        "α = 1.2, semantic": (task, "semantic"),
        "α = 1.2, positional": (task, "positional"),
        "α = 2, positional": (task.vary(alpha=2), "positional"),
        "α = 1.2, λ = 0.001, semantic": (task.vary(ridge=0.001), "semantic"),
        "α = 1.2, λ = 0.001, positional": (task.vary(ridge=0.001), "positional"),
        "three tokens, mixed": (three, mixed),
        "student of rank two, mixed": (task.vary(student=attentions.softmax(2)), mixed),
        "untied, mixed": (task.vary(student=attentions.softmax(1, tied=False)), mixed),
        "two groups of directions, mixed": (
            task.vary(tokens=dp.Tokens([[0.15, 0.3], [0.6, 0.2]], [0.7, 0.3])),
            mixed,
        ),
        "a kernel of one's own, mixed": (task.vary(student=bell), mixed),
    }


def agreement() -> None:
    """Training less theory in standard errors, the largest of eleven records along the curve, at
    three sizes and extrapolated in 1/d."""
    from dotphase.comparison.curves import compare_curve

    rows, first = [], 0
    for name, (scenario, start) in scenarios().items():
        found = {}
        for d in (500, 1000, 2000):
            first += 16  # every row has data sets of its own
            seeds = range(first, first + 16)
            found[d] = compare_curve(scenario, start, d, seeds, steps=200, step_size=0.75)
            rows.append([name, d, *(f"{value:.1f}" for value in found[d].worst.values())])
            print(*rows[-1], flush=True)
        limits = {each: _limit({d: found[d].gaps[each] for d in found}) for each in found[500].gaps}
        rows.append([name, "∞", *(f"{value:.1f}" for value in limits.values())])
        print(*rows[-1], flush=True)
        columns = ("scenario and start", "d", "q", "m", "θ", "ε_t", "ε_g at the end")
        note = "16 seeds of its own in each row; 200 steps of 0.75; ∞: extrapolated in 1/d"
        keep_table("curves", "agreement", columns, rows, command=f"{COMMAND} agreement", note=note)


def _limit(gaps: dict) -> float:
    """The largest deviation along the curve of the intercept of a line in 1/d."""
    worst = 0.0
    for k in range(len(next(iter(gaps.values())))):
        each = [Estimate(gap.value[k], gap.error[k]) for gap in gaps.values()]
        if all(gap.error > 0 for gap in each):
            worst = max(worst, abs(at_infinite_size(list(gaps), each).deviation()))
    return worst


def published() -> None:
    """The schedule of the published experiments, 5000 steps of 0.15, at d = 1000: training less the
    learning curve and less both static theories, in standard errors of four seeds."""
    import dotphase as dp
    from dotphase.comparison.curves import compare_curve

    rows = []
    for ridge in (0.001, 0.01, 0.1):
        for alpha in (0.25, 0.5, 0.75, 1.0, 1.5, 2.0):
            for start in ("semantic", "positional"):
                task = dp.paper(alpha=alpha, omega=0.3, ridge=ridge)
                options = {"steps": 5000, "step_size": 0.15, "records": 1, "paths": 2048}
                found = compare_curve(task, start, 1000, 4, **options)
                order = "theta" if start == "semantic" else "m"
                names = ("test_error", "train_loss", order)
                curve = [f"{found.gaps[name].deviation()[-1]:+.1f}" for name in names]
                rows.append([ridge, alpha, start, " ".join(curve)])
                for minimum in ("reached", "lowest"):
                    rows[-1].append(_static(task, start, minimum, found.trained, names))
                print(*rows[-1], sep=" | ", flush=True)
                columns = ("λ", "α", "start", "learning curve", "reached", "lowest")
                note = "ε_g, ε_t, θ or m: training less theory in standard errors of 4 seeds"
                about = {"command": f"{COMMAND} published", "note": f"ω = 0.3; {note}"}
                keep_table("curves", "published schedule", columns, rows, **about)


def _static(task, start: str, minimum: str, trained: dict, names: tuple[str, ...]) -> str:
    import dotphase as dp

    solution = dp.solve(task, start, minimum=minimum, d=1000)
    if solution.outcome == "collapsed":
        return "no such branch"
    gaps = (trained[name][-1] - getattr(solution, name) for name in names)
    return " ".join(f"{float(gap.deviation()):+.1f}" for gap in gaps)


def stopping() -> None:
    """The lowest test error along a curve, against the end of the curve at the best ridge."""
    import dotphase as dp

    rows = []
    for alpha in (0.67, 1.17, 2.0):
        for start in ("random", "positional"):
            task = dp.paper(alpha=alpha, omega=0.3)
            early = dp.learning_curve(task.vary(ridge=1e-4), start, time=1000, d=1000, paths=2048)
            best = int(early.test_error.value.argmin())
            ends = {
                ridge: dp.learning_curve(
                    task.vary(ridge=ridge), start, time=1000, d=1000, paths=2048
                )
                for ridge in (1e-3, 1e-2, 1.5e-2, 2e-2, 3e-2, 4e-2, 6e-2, 8e-2)
            }
            ridge = min(ends, key=lambda each: ends[each].test_error.value[-1])
            stopped = f"{early.test_error[best]:()}"
            at = f"{early.times[best]:.0f}"
            end = f"{ends[ridge].test_error[-1]:()}"
            rows.append([alpha, start, at, stopped, f"{ridge:g}", end])
            print(*rows[-1], flush=True)
    columns = ("α", "start", "best time", "ε_g there, λ = 0.0001", "best λ", "ε_g at time 1000")
    keep_table("curves", "stopping", columns, rows, command=f"{COMMAND} stopping", note="ω = 0.3")


def escape() -> None:
    """When |m| or |θ|/ρ of a random start exceeds 0.1, and what it has learned at the end."""
    import dotphase as dp

    rows = []
    for alpha in (0.8, 2.0):
        for d in (10**2, 10**3, 10**4, 10**5, 10**6):
            times, positional = [], 0
            for seed in range(6):
                options = {"time": 300, "step_size": 0.75, "d": d, "seed": seed}
                task = dp.paper(alpha=alpha, omega=0.3, ridge=0.001)
                found = dp.learning_curve(task, "random", **options)
                size = np.maximum(found.m.value, found.theta.value / 0.25)
                if (size > 0.1).any():
                    times.append(found.times[(size > 0.1).argmax()])
                    positional += found.m.value[-1] > found.theta.value[-1] / 0.25
            mean = over_seeds(times) if len(times) > 1 else "–"
            rows.append([alpha, f"{d:g}", f"{len(times)} of 6", mean, positional])
            print(*rows[-1], flush=True)
    columns = ("α", "d", "escaped by time 300", "when", "of these positional at the end")
    note = "ω = 0.3, λ = 0.001, six draws of the start"
    keep_table("curves", "escape", columns, rows, command=f"{COMMAND} escape", note=note)


def linear_token():
    """One token and linear attention: many samples have two inner minima."""
    import dotphase as dp
    from dotphase import attentions
    from dotphase.scenario import isotropic, no_positions

    teacher = attentions.mixture([[1.0]], 0.19, attentions.linear(1))
    student = attentions.linear(1)
    return dp.Scenario(teacher, student, isotropic(1, 0.5), no_positions(1), 1.326, 0.0154)


def one_token() -> None:
    """One token, linear attention, at long times."""
    import dotphase as dp

    options = {"time": 4800, "step_size": 1.5, "paths": 8192, "progress": True}
    found = dp.learning_curve(linear_token(), "semantic", **options)
    rows = []
    for at in (75, 150, 300, 600, 1200, 2400, 4800):
        k = int(np.abs(found.times - at).argmin())
        ends = (found.theta, found.test_error, found.train_loss)
        rows.append([at, *(f"{end[k]:()}" for end in ends)])
        print(*rows[-1], flush=True)
    note = f"{found.modes} modes, {found.outcome} {found.reason}"
    columns = ("time", "θ", "ε_g", "ε_t")
    keep_table("curves", "one token", columns, rows, command=f"{COMMAND} one_token", note=note)


def aging() -> None:
    """How far the same weights move between a time and twice that time."""
    import dotphase as dp

    steps = (50, 100, 200, 400, 800, 1600)
    options = {"steps": 1600, "step_size": 1.5, "paths": 4096, "keep": steps}
    C = dp.learning_curve(linear_token(), "semantic", **options).correlation
    rows = []
    for k in range(len(steps) - 1):
        early, late, both = C.value[k, k], C.value[k + 1, k + 1], C.value[k, k + 1]
        times = f"{1.5 * steps[k]:g} and {1.5 * steps[k + 1]:g}"
        rows.append(
            [times, f"{both / np.sqrt(early * late):.4f}", f"{early + late - 2 * both:.5f}"]
        )
        print(*rows[-1], flush=True)
    columns = ("times", "C(s, t)/√(C(s, s) C(t, t))", "distance squared")
    about = {"command": f"{COMMAND} aging", "note": "one token, linear attention"}
    keep_table("curves", "aging", columns, rows, **about)


PARTS = {
    "cost": cost,
    "ratio": ratio,
    "cut": cut,
    "agreement": agreement,
    "published": published,
    "stopping": stopping,
    "escape": escape,
    "one_token": one_token,
    "aging": aging,
}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
