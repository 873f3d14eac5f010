"""Our L-BFGS against scipy's and optax's on the same objectives, in one run: `python -m
benchmarks.descents`."""

from __future__ import annotations

import time
from contextlib import suppress

import jax
import numpy as np
import optax
from scipy.optimize import minimize

from dotphase.finite.data.sampling import sample
from dotphase.finite.training.objective import Objective
from dotphase.finite.training.optimisers import LBFGS
from dotphase.finite.training.starts import start_weights
from dotphase.scenario.presets import paper

TOLERANCE, MEMORY, MOST = 1e-8, 20, 400


class Reached(Exception):
    """The tolerance is met."""


def ours(objective: Objective, weights: np.ndarray) -> tuple[int, float]:
    end = LBFGS(tolerance=TOLERANCE, memory=MEMORY).minimise(objective, weights)
    return end.evaluations, end.gradient_norm


def of_scipy(objective: Objective, weights: np.ndarray) -> tuple[int, float]:
    norms = []

    def evaluated(flat):
        value, gradient = objective(flat.reshape(weights.shape))
        norms.append(objective.relative_gradient(flat, value, gradient))
        if norms[-1] <= TOLERANCE:
            raise Reached
        return value, gradient.ravel()

    options = {
        "maxcor": MEMORY,
        "ftol": 0,
        "gtol": 0,
        "maxiter": 5000,
        "maxfun": 20_000,
        "maxls": 50,
    }
    with suppress(Reached):
        minimize(evaluated, weights.ravel(), jac=True, method="L-BFGS-B", options=options)
    return len(norms), min(norms)


def of_optax(objective: Objective, weights: np.ndarray) -> tuple[int, float]:
    passes, data, ridge = (
        objective._passes,
        objective._data,
        objective.ridge,
    )  # its line search is compiled around them

    def forward(q):
        value, slope = passes.value_and_gradient(data, q)
        return objective._constant + value + 0.5 * ridge * (q**2).sum(), slope + ridge * q

    with jax.enable_x64(True):
        loss = jax.custom_vjp(lambda q: forward(q)[0])
        loss.defvjp(forward, lambda gradient, along: (along * gradient,))
        rule, evaluate = optax.lbfgs(memory_size=MEMORY), optax.value_and_grad_from_state(loss)

        @jax.jit
        def step(q, state):
            value, gradient = evaluate(q, state=state)
            move, state = rule.update(gradient, state, q, value=value, grad=gradient, value_fn=loss)
            return q + move, state

        q, state, evaluations, least = weights, rule.init(weights), 0, np.inf
        for _ in range(MOST):
            q, state = step(q, state)
            search = state[-1]
            evaluations += int(search.info.num_linesearch_steps)
            gradient = np.asarray(search.grad)
            least = min(
                least, objective.relative_gradient(np.asarray(q), float(search.value), gradient)
            )
            if least <= TOLERANCE:
                break
        return evaluations, least


def main() -> None:
    print(
        "evaluations of F and its gradient, relative gradient norm reached (asked for 1e-8), processor seconds"
    )
    for start in ("semantic", "positional", "random"):
        for alpha in (1.0, 2.0):
            objective = Objective(sample(paper(alpha=alpha), 300, 0))
            weights, cells = start_weights(objective.sample.instance, start), []
            objective(weights)  # compiled once, for all three
            for name, method in (("ours", ours), ("scipy", of_scipy), ("optax", of_optax)):
                began = time.process_time()
                evaluations, norm = method(objective, weights)
                cells.append(
                    f"{name} {evaluations:>4} {norm:.1e} {time.process_time() - began:6.2f} s"
                )
            print(f"{start:<10} α = {alpha:g}   " + "   ".join(cells), flush=True)


if __name__ == "__main__":
    main()
