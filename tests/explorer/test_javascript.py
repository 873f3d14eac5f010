"""What the page computes by itself is what the library computes. Skipped where there is no node."""

import base64
import json
import shutil
import subprocess

import jax
import numpy as np
import pytest

from dotphase.counting import logits
from dotphase.explorer.answers.letters import count_letters, counters, tokens_of
from dotphase.explorer.answers.shipped import TABLES
from dotphase.explorer.answers.tables import decoded
from dotphase.explorer.site import PAGE, bundle
from dotphase.explorer.site import counters as stored_counters
from dotphase.finite.data.instance import Instance
from dotphase.finite.data.sampling import sample
from dotphase.finite.overlaps import overlaps
from dotphase.finite.training.objective import Objective
from dotphase.finite.training.starts import start_weights
from dotphase.scenario.presets import paper

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="there is no node here")


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    folder = tmp_path_factory.mktemp("modules")
    shutil.copytree(PAGE / "js", folder / "js")
    (folder / "package.json").write_text('{"type": "module"}')
    return folder


def run(modules, script, given):
    """What a script says about `given`, as JSON."""
    before = 'import { readFileSync } from "fs"; const given = JSON.parse(readFileSync(0, "utf8"));'
    (modules / "script.js").write_text(f"{before}\n{script}")
    done = subprocess.run(
        [NODE, "script.js"], cwd=modules, input=json.dumps(given), text=True, capture_output=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


TRAIN = """
import { Network } from "./js/network/network.js";
const { task, d, n, teacher, seen, start, rate, steps } = given;
const data = { task, d, n, teacher: Float64Array.from(teacher), seen: Float64Array.from(seen) };
const network = new Network(data, Float64Array.from(start));
const said = [];
for (let step = 0; step <= steps; step++) {
  said.push([network.loss, network.overlaps.m, network.overlaps.theta, network.overlaps.q]);
  if (step < steps) network.step(rate);
}
console.log(JSON.stringify({ said, weights: Array.from(network.weights) }));
"""


@pytest.mark.parametrize("start", ["random", "semantic", "positional"])
def test_a_training_is_the_librarys_step_by_step(modules, start):
    """After each of 100 steps loss and overlaps are those of the library, from the same data."""
    d, rate, steps = 60, 0.15, 100
    A = [0.3, 0.7, 0.8, 0.2]
    scenario = paper(alpha=2, omega=0.3, sigma=0.5, ridge=0.01, positional="alternative")
    instance = Instance(scenario, d, 3)
    drawn, weights = sample(instance), start_weights(instance, start)
    objective, expected = Objective(drawn), []
    first = weights.copy()
    for step in range(steps + 1):
        value, gradient = objective(weights)
        sizes = overlaps(instance, weights).sizes
        expected.append([value / d, *(float(sizes[name].mean()) for name in ("m", "theta", "q"))])
        weights = weights - rate * gradient if step < steps else weights
    task = {"alpha": 2, "omega": 0.3, "sigma": 0.5, "lambda": 0.01, "A": A}
    told = run(
        modules,
        TRAIN,
        {
            **{"task": task, "d": d, "n": instance.sample_count, "rate": rate, "steps": steps},
            "teacher": instance.teacher_weights[:, 0].tolist(),
            "seen": drawn.tokens.ravel().tolist(),
            "start": first[:, 0].tolist(),
        },
    )
    assert np.abs(np.array(told["said"]) - expected).max() < 1e-6
    assert np.abs(np.array(told["weights"]) - weights[:, 0]).max() < 1e-6


COUNT = """
import { count, readHalves, readWeights } from "./js/network/counting.js";
const read = (text) => readWeights(readHalves(new Uint8Array(Buffer.from(text, "base64"))), given.shapes);
const said = Object.fromEntries(Object.entries(given.models).map(([name, text]) => {
  const weights = read(text);
  return [name, given.tokens.map((tokens) => count(weights, tokens, name).logits)];
}));
console.log(JSON.stringify(said));
"""


def test_the_counting_transformers_are_the_librarys(modules):
    words = ["HELLOWORLD", "BANANARAMA", "AAAAAAAAAA", "STRAWBERRY", "QWERTZUIOP"]
    tokens = np.array([tokens_of(list(word)) for word in words], np.int32)
    told = run(modules, COUNT, {**stored_counters(), "tokens": tokens.tolist()})
    with jax.enable_x64(True):
        for mechanism, weights in counters().items():
            doubled = type(weights)(*(np.asarray(array, np.float64) for array in weights))
            expected = np.asarray(logits(doubled, tokens, mechanism))
            assert np.abs(np.array(told[mechanism]) - expected).max() < 1e-5


LETTERS = """
globalThis.window = {};
const { countLetters } = await import("./js/alone/letters.js");
console.log(JSON.stringify(given.texts.map((text) => countLetters(given.counters, text))));
"""


def test_letters_are_read_and_counted_as_on_the_server(modules):
    texts = ["Hé llo", "ßж한字 abcdefgh", "a1b?😀", "Banana Rama", "strawberry jam"]
    told = run(modules, LETTERS, {"texts": texts, "counters": stored_counters()})
    for text, answer in zip(texts, told, strict=True):
        expected = count_letters(text)
        assert answer["letters"] == expected["letters"]
        assert answer["note"] == expected["note"]
        if "models" in expected:
            assert answer["truth"] == expected["truth"]
            for name, model in expected["models"].items():
                assert answer["models"][name]["counts"] == model["counts"]


INTERPOLATE = """
import { Tables } from "./js/alone/tables.js";
const tables = new Tables(given.tables);
const said = given.points.map((point) => ["semantic", "positional"].map((name) => tables.branch(point, name)));
console.log(JSON.stringify(said));
"""


def test_tables_are_read_and_interpolated(modules):
    tables = json.loads(TABLES.read_text(encoding="utf-8"))
    plane = next(
        p
        for p in tables["planes"]
        if (p["student"], p["sigma"], p["lambda"], p["minimum"]) == ("softmax", 0.5, 0.01, "lowest")
    )
    numbers = decoded(plane)
    at = {"student": "softmax", "sigma": 0.5, "lambda": 0.01, "minimum": "lowest"}
    points = [{**at, "omega": 0.3, "alpha": alpha} for alpha in (2.0, 2.05, 0.3)]
    told = run(modules, INTERPOLATE, {"tables": tables, "points": points})
    semantic, positional = numbers[:, 0, 6, 19]
    assert told[0][0]["train_loss"]["value"] == pytest.approx(semantic)
    assert told[0][1]["train_loss"]["value"] == pytest.approx(positional)
    assert told[1][0]["train_loss"]["value"] == pytest.approx(numbers[0, 0, 6, 19:21].mean())
    assert told[2][0] is None  # the semantic branch does not exist at so few samples
    assert told[2][1] is not None
    assert semantic == pytest.approx(0.003590, rel=0.005)  # the reference value of the theory
    assert positional == pytest.approx(0.004508, rel=0.005)


def test_the_bundle_is_one_script_that_node_can_read(modules):
    text = bundle(PAGE / "js" / "main.js")
    assert not [line for line in text.splitlines() if line.startswith(("import ", "export "))]
    (modules / "page.cjs").write_text(text)
    subprocess.run([NODE, "--check", "page.cjs"], cwd=modules, check=True)


def test_base64_of_a_plane_has_the_shape_of_the_tables():
    tables = json.loads(TABLES.read_text(encoding="utf-8"))
    count = 2 * 9 * len(tables["omega"]) * len(tables["alpha"])
    for plane in tables["planes"]:
        assert len(base64.b64decode(plane["codes"])) == 2 * count
    assert TABLES.stat().st_size < 10**6
