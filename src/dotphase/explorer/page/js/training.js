// View 3: networks that train while one watches, over the fixed points of the theory.

import { channel } from "./api.js";
import { here, onPoint } from "./branches.js";
import { axis, caption, colour, css, draw, faint, layout, painter, safe, written } from "./plots.js";
import { change, onChange, SCENARIO, state, task, touches } from "./state.js";

const KEPT = 60; // runs on the screen
const runs = [];
const live = channel("/api/train");
const plot = document.getElementById("training-plot");
const [go, halt, again, clear] = ["train", "train-stop", "train-again", "train-clear"].map((id) => document.getElementById(id));
export const paint = painter(paintNow, 400);

export function start() {
  go.addEventListener("click", begin);
  again.addEventListener("click", () => { change({ seed: state.seed + state.seeds }); begin(); });
  halt.addEventListener("click", () => { live.stop(); finish("Stopped."); });
  clear.addEventListener("click", () => { runs.length = 0; paint(); });
  onPoint(paint);
  onChange((changed) => {
    if (!touches(changed, SCENARIO)) return;
    if (live.busy) { live.stop(); finish("Stopped, since the problem has changed."); }
    runs.length = 0; // they solved another problem
    paint();
  });
  paint();
}

export function begin() {
  const asked = { task: task(), d: state.d, start: state.start, optimiser: state.optimiser, seed: state.seed, seeds: state.seeds };
  halt.disabled = false;
  note("Waiting for the trainer …");
  live.start(asked, receive);
}

function receive(message) {
  const run = runs.at(-1);
  if (message.event === "begin") {
    runs.push({ seed: message.seed, d: message.d, start: state.start, step: [], loss: [], m: [], theta: [] });
    while (runs.length > KEPT) runs.shift();
    note(`seed ${message.seed}: ${message.n} examples in ${message.d} dimensions …`);
  } else if (message.event === "step") {
    for (const name of ["step", "loss", "m", "theta"]) run[name].push(message[name]);
    note(`seed ${message.seed}, step ${message.step}: loss ${message.loss.toPrecision(4)}, |m| = ${message.m.toFixed(3)}, |θ| = ${message.theta.toFixed(3)}`);
  } else if (message.event === "end") {
    run.end = message;
    run.kind = verdict(message);
    if (message.loss !== null) for (const name of ["step", "loss", "m", "theta"]) run[name].push(message[name]);
  } else if (message.event === "theory") run.theory = message;
  else if (message.event === "waiting" && message.before) note(`${message.before} networks train before yours …`);
  else if (message.event === "busy") note(`${safe(message.reason)}; trying again …`);
  else if (message.event === "failed") finish(`It did not work: ${safe(message.reason)}`);
  else if (message.event === "done") finish(summary());
  else if (message.event === "superseded") finish("Stopped, since another training began.");
  paint();
}

function summary() {
  const ended = runs.filter((run) => run.end?.loss != null);
  const last = ended.at(-1);
  if (!last) return `No answer: ${safe(runs.at(-1)?.end?.reason ?? "nothing was trained")}`;
  const counts = ["semantic", "positional", "mixed", "neither"].map((name) => [ended.filter((run) => run.kind === name).length, name]);
  const many = ended.length > 1 ? ` On the screen: ${counts.filter(([count]) => count).map((pair) => pair.join(" ")).join(", ")}.` : "";
  const kind = last.kind === "neither" ? "at neither solution" : `<b class="${last.kind}">${last.kind}</b>`;
  return `Seed ${last.seed} ended ${kind} after ${last.end.step} steps: ε<sub>t</sub> = ${last.end.loss.toPrecision(4)}, ε<sub>g</sub> = ${written(last.end.test_error)}.${many}`;
}

// The mechanism that a network has learned; "neither" if it has less than half of what the theory's solution of that name has.
function verdict(end) {
  const known = here()[end.mechanism]?.numbers?.[end.mechanism === "semantic" ? "theta" : "m"].value;
  const found = end.mechanism === "semantic" ? end.theta : end.m;
  return end.mechanism === "uninformed" || end.mechanism === "diverged" || (known && found < known / 2) ? "neither" : end.mechanism;
}

function finish(html) {
  halt.disabled = true;
  note(html);
}

function note(html) { document.getElementById("training-reading").innerHTML = html; }

function paintNow() {
  if (!window.Plotly) return;
  const narrow = plot.clientWidth < 520 && plot.clientHeight > 450;
  const something = runs.length > 0 || Object.values(here()).some((point) => point?.numbers); // no numbers on empty axes
  const shape = layout({ grid: { rows: narrow ? 2 : 1, columns: narrow ? 1 : 2, pattern: "independent", xgap: plot.clientWidth < 600 ? 0.32 : 0.18, ygap: 0.25 },
    xaxis: axis("step", { rangemode: "tozero", showticklabels: something }), yaxis: axis("", { type: "log", exponentformat: "e", nticks: 6, showticklabels: something }),
    xaxis2: axis("position |m|", { range: [-0.02, 1.12 * most("m")] }), yaxis2: axis("meaning |θ|", { range: [-0.015, 1.12 * most("theta")] }),
    annotations: [caption("loss while training", "x", "y"), caption("position and meaning", "x2", "y2")] });
  shape.margin = { l: 66, r: 12, t: 24, b: 42 };
  draw(plot, [...runs.flatMap(paths), ...theory()], shape);
}

function paths(run) {
  const newest = run === runs.at(-1);
  const ink = run.start === "random" ? css("ink") : colour(run.start);
  const line = { color: newest ? ink : faint(toHex(ink), 0.45), width: newest ? 2.5 : 1 };
  const name = `seed ${run.seed} from ${run.start}`;
  const traces = [
    { type: "scatter", mode: "lines", name: `${name}: step, loss`, x: run.step, y: run.loss, line, hoverinfo: "x+y" },
    { type: "scatter", mode: "lines", name: `${name}: m, theta`, x: run.m, y: run.theta, xaxis: "x2", yaxis: "y2", line, hoverinfo: "x+y" },
  ];
  if (run.theory && newest) {
    const dashed = { color: css("ink"), width: 1.5, dash: "dash" };
    traces.push({ type: "scatter", mode: "lines", name: `${name}: theory of the loss`, x: run.theory.step, y: run.theory.loss, line: dashed, hoverinfo: "x+y" },
      { type: "scatter", mode: "lines", name: `${name}: theory of m, theta`, x: run.theory.m, y: run.theory.theta, xaxis: "x2", yaxis: "y2", line: dashed, hoverinfo: "x+y" });
  }
  if (run.end?.loss != null) traces.push({ type: "scatter", mode: "markers", x: [run.end.m], y: [run.end.theta], xaxis: "x2", yaxis: "y2", hoverinfo: "skip",
    meta: "decoration", marker: { size: 8, color: ["semantic", "positional"].includes(run.kind) ? colour(run.kind) : css("ink"), line: { color: css("ink"), width: 1 } } });
  return traces;
}

const most = (name) => Math.max(0.1, ...runs.flatMap((run) => run[name]), ...Object.values(here()).map((point) => point?.numbers?.[name].value ?? 0));

const toHex = (ink) => (ink.startsWith("#") ? ink : "#888888");

function theory() {
  return Object.entries(here()).filter(([, point]) => point?.numbers).flatMap(([branch, { numbers }]) => [
    { type: "scatter", mode: "markers", name: `theory, ${branch}`, x: [numbers.m.value], y: [numbers.theta.value], xaxis: "x2", yaxis: "y2", hoverinfo: "x+y+name",
      marker: { symbol: "diamond-open", size: 17, color: colour(branch), line: { width: 3 } } },
    { type: "scatter", mode: "lines", name: `theory, ${branch}: loss`, x: [0, Math.max(10, ...runs.flatMap((run) => run.step.at(-1) ?? 0))], y: Array(2).fill(numbers.train_loss.value),
      hoverinfo: "skip", line: { color: colour(branch), width: 1.5, dash: "dot" } },
  ]);
}
