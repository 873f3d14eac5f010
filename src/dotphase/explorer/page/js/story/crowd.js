// Scene 5: fifty networks, each with its own data and its own random start, flow in the plane of m and θ while they train.

import { trainHere } from "../network/train_here.js";
import { frame, moves, shape, whenSeen } from "./draw.js";

const COUNT = 50, D = 150, OMEGA = 0.3;
const RATE = 0.75, STEPS = 600; // five times the library's rate, for as long a time as it needs to come to rest
const at = (id) => document.getElementById(id);
let stop = () => {}, seed = 1;

export function start(numbers) {
  at("crowd-go").addEventListener("click", () => { seed += COUNT; begin(numbers); });
  for (const id of ["crowd-alpha", "crowd-hint"]) at(id).addEventListener("change", () => begin(numbers));
  prepare(numbers);
  if (moves()) whenSeen(at("scene-crowd"), () => begin(numbers));
}

function prepare(numbers) {
  const alpha = Number(at("crowd-alpha").value);
  const known = Object.fromEntries(["semantic", "positional"].map((branch) => [branch, numbers(branch, alpha, OMEGA)]));
  const place = frame(at("crowd-picture"), { x: [0, 0.36], y: [0, 0.22], ticks: { x: [0, 0.1, 0.2, 0.3], y: [0, 0.1, 0.2] }, titles: ["knows of position, m", "knows of meaning, θ"] });
  const diamonds = Object.entries(known).filter(([, found]) => found).map(([branch, found]) => {
    const [x, y] = [place.x(found.m.value), place.y(found.theta.value)];
    return shape("path", { class: `diamond ${branch}`, d: `M${x},${y - 13}L${x + 13},${y}L${x},${y + 13}L${x - 13},${y}Z` });
  });
  const dots = Array.from({ length: COUNT }, () => shape("circle", { class: "network neither", r: 4.5, cx: place.x(0), cy: place.y(0) }));
  place.svg.append(...diamonds, ...dots);
  at("crowd-said").textContent = "";
  return { place, dots, known };
}

// Near which solution a network is: it has half of what that solution of the theory has, and less than half of the other's.
export function sort([m, theta], known) {
  const position = known.positional ? m / known.positional.m.value : 0, meaning = known.semantic ? theta / known.semantic.theta.value : 0;
  if ((position < 0.5) === (meaning < 0.5)) return "neither";
  return meaning > position ? "semantic" : "positional";
}

function begin(numbers) {
  stop();
  const { place, dots, known } = prepare(numbers), alpha = Number(at("crowd-alpha").value);
  const task = { alpha, omega: OMEGA, sigma: 0.5, lambda: 0.01, A: [0.6, 0.4, 0.4, 0.6] };
  let waiting = null;
  const show = () => {
    if (!waiting) return;
    const { step, places } = waiting, kinds = places.map((one) => sort(one, known));
    waiting = null;
    places.forEach(([m, theta], k) => {
      dots[k].setAttribute("cx", place.x(Math.min(m, 0.36)));
      dots[k].setAttribute("cy", place.y(Math.min(theta, 0.22)));
      dots[k].setAttribute("class", `network ${kinds[k]}`);
    });
    tell(kinds, step);
  };
  stop = trainHere("crowd", { task, d: D, count: COUNT, seed, hint: Number(at("crowd-hint").value), rate: RATE, steps: STEPS }, (message) => {
    if (message.event === "crowd" && (moves() || message.step === STEPS || message.step % 100 === 0)) {
      if (!waiting) requestAnimationFrame(show);
      waiting = message;
    }
    if (message.event === "failed") at("crowd-said").textContent = message.reason;
    if (message.event === "done") requestAnimationFrame(() => end(known, alpha));
  });
}

function tell(kinds, step) {
  const count = (kind) => kinds.filter((one) => one === kind).length;
  at("crowd-positional").textContent = count("positional");
  at("crowd-semantic").textContent = count("semantic");
  at("crowd-neither").textContent = count("neither");
  at("crowd-step").textContent = `Step ${step} of ${STEPS}.`;
}

function end({ semantic, positional }, alpha) {
  at("crowd-step").textContent = "All have come to rest, or nearly.";
  if (!semantic || !positional) return void (at("crowd-said").textContent = `At α = ${alpha} the theory has one solution only.`);
  const lower = (name) => semantic[name].value < positional[name].value;
  const error = (found) => found.test_error.value.toFixed(4);
  const verdict = lower("train_loss") === lower("test_error")
    ? `${lower("test_error") ? "Semantic" : "Positional"} is better`
    : `The ${lower("train_loss") ? "semantic" : "positional"} solution has the lower training loss, yet the other one is better on new sentences`;
  at("crowd-said").textContent = `${verdict}: at α = ${alpha} the test error of the semantic solution is ${error(semantic)}, of the positional one ${error(positional)}.`;
}
