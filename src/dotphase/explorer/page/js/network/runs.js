// Trainings that can be watched: messages as the server's, or many networks at once.

import { drawData, firstWeights, mechanism, Network } from "./network.js";

const RATE = 0.15, STEPS = 5000, FIRST = 60; // as in the library: its gradient descent; each of the first steps is reported
const SLICE = 30; // milliseconds between two messages

// One network after another. A generator: whoever runs it decides when it goes on.
export function* train({ task, d, start, seed, seeds }) {
  for (let each = seed; each < seed + seeds; each++) {
    const data = drawData(task, d, each), network = new Network(data, firstWeights(data, start, each));
    const tell = (event, step, more = {}) => ({ event, seed: each, step, loss: network.loss, ...network.overlaps, ...more });
    yield { event: "begin", seed: each, n: data.n, d };
    let told = -Infinity, step = 0;
    for (; step < STEPS && Number.isFinite(network.loss); step++) {
      const now = performance.now();
      if (step <= FIRST || now - told > SLICE) { told = now; yield tell("step", step); }
      network.step(RATE);
    }
    const kind = mechanism(network.overlaps, task, d);
    yield tell("end", step, { outcome: "stopped", reason: "", mechanism: kind, test_error: network.testError(each) });
  }
  yield { event: "done" };
}

// Many networks side by side: where each of them is in the plane of m and θ, at every step. `hint`: the share of the teacher's weights
// in their first ones.
export function* crowd({ task, d, count, seed, hint, rate, steps }) {
  const networks = Array.from({ length: count }, (_, k) => {
    const data = drawData(task, d, seed + k);
    return new Network(data, firstWeights(data, "random", seed + k).map((weight, i) => weight + hint * data.teacher[i]));
  });
  for (let step = 0; step <= steps; step++) {
    yield { event: "crowd", step, places: networks.map((network) => { const { m, theta } = network.overlaps; return [m, theta]; }) };
    for (const network of networks) network.step(rate);
  }
  yield { event: "done" };
}
