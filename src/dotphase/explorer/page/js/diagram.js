// View 1: the phase diagram, and the ring that is dragged over it.

import { channel } from "./api.js";
import { axis, colour, css, dataAt, draw, layout, painter, faint, safe } from "./plots.js";
import { change, inside, isDefaultPlane, onChange, PLANE, state, task, touches } from "./state.js";

const LINES = {
  "train-loss": ["α<sub>c</sub>: losses cross", "solid", () => css("ink")],
  linear: ["α<sub>l</sub>: beats the linear baseline", "dash", () => css("ink")],
  "spinodal-semantic": ["semantic branch ends", "dot", () => colour("semantic")],
  "spinodal-positional": ["positional branch ends", "dot", () => colour("positional")],
};
const STEP = { alpha: 0.01, omega: 0.005 };
const background = channel("/api/diagram");
const plot = document.getElementById("diagram-plot");
const handle = document.getElementById("handle");
const pad = document.getElementById("diagram-pad");
const bar = document.getElementById("diagram-progress");
let shipped = null, shown = null, later = 0;
export const paint = painter(paintNow);

const file = fetch("/data/diagram.json"); // on its way before anyone asks

// Until the ring can be dragged.
export async function drawn() { while (!plot._fullLayout) await new Promise(requestAnimationFrame); }

export async function start() {
  shipped = shown = await (await file).json();
  refresh();
  onChange((changed) => {
    if (touches(changed, PLANE)) refresh();
    if (touches(changed, ["alpha", "omega"])) place();
  });
  pad.addEventListener("pointerdown", (event) => { if (event.pointerType === "mouse") grab(event); });
  pad.addEventListener("click", moveTo);
  handle.addEventListener("pointerdown", grab);
  handle.addEventListener("keydown", steer);
  new ResizeObserver(() => requestAnimationFrame(place)).observe(plot);
}

function refresh() {
  clearTimeout(later);
  background.stop();
  bar.hidden = true;
  if (isDefaultPlane()) { shown = shipped; paint(); return; }
  later = setTimeout(recompute, 500);
}

function recompute() {
  const asked = { task: task(), minimum: state.minimum };
  background.start(asked, (message) => {
    if (message.event === "grid") begin(message);
    if (message.event === "row") fill(message);
    if (message.event === "failed") reading(`The diagram could not be computed: ${safe(message.reason)}`);
    if (["done", "failed", "superseded"].includes(message.event)) bar.hidden = true;
    paint();
  });
}

function begin({ alpha, omega }) {
  const empty = (value) => omega.map(() => alpha.map(() => value));
  const lines = Object.fromEntries(Object.keys(LINES).map((name) => [name, { omega: [], alpha: [], error: [] }]));
  shown = { alpha, omega, margin: empty(null), winner: empty(""), broken: empty(false), lines };
  bar.hidden = false;
  bar.value = 0;
}

function fill(row) {
  const at = shown.omega.indexOf(row.omega);
  shown.margin[at] = row.margin;
  shown.winner[at] = row.winner;
  shown.broken[at] = row.broken;
  for (const [name, found] of Object.entries(row.lines)) {
    if (!found) continue;
    const line = shown.lines[name];
    const before = line.omega.filter((omega) => omega < row.omega).length;
    line.omega.splice(before, 0, row.omega);
    line.alpha.splice(before, 0, found[0]);
    line.error.splice(before, 0, found[1]);
  }
  bar.value = shown.winner.filter((winners) => winners[0] !== "").length / shown.omega.length;
}

function paintNow() {
  if (!shown || !window.Plotly) return;
  const largest = Math.max(1e-6, ...shown.margin.flat().filter((x) => x !== null).map(Math.abs));
  const alone = { semantic: -largest, positional: largest }; // where there is one branch only, it wins by far
  const bent = (x) => (x === null ? null : Math.sign(x) * Math.log1p((30 * Math.abs(x)) / largest));
  const drawn = shown.margin.map((row, i) => row.map((x, j) => bent(x ?? alone[shown.winner[i][j]] ?? null)));
  const turned = (table) => shown.alpha.map((_, j) => shown.omega.map((_, i) => table[i][j]));
  const heat = { type: "heatmap", name: "training loss, semantic − positional", x: shown.omega, y: shown.alpha, z: turned(drawn),
    customdata: turned(shown.margin), zmid: 0, zmin: -3.5, zmax: 3.5, showscale: false, hoverinfo: "skip",
    colorscale: [[0, colour("semantic")], [0.5, css("even")], [1, colour("positional")]] };
  draw(plot, [heat, ...lines(), ...marks()], layout({
    xaxis: axis("how positional the teacher is, ω", { range: ends(shown.omega) }), yaxis: axis("samples per dimension α", { range: ends(shown.alpha) }),
    showlegend: true, ...(plot.clientHeight < 340
      ? { legend: { y: 0.5, x: 1.01, font: { size: 11 } }, margin: { l: 50, r: 8, t: 8, b: 40 } }
      : { legend: { orientation: "h", y: 1.01, yanchor: "bottom", x: 0, font: { size: 11 } }, margin: { l: 50, r: 8, t: 64, b: 42 } }),
    annotations: [["semantic wins", 0.03, 0.9], ["positional wins", 0.97, 0.06]].map(([text, x, y]) => ({ text: `<b>${text}</b>`, xref: "paper", yref: "paper",
      x, y, xanchor: x < 0.5 ? "left" : "right", showarrow: false, font: { size: 14, color: css("ink") }, bgcolor: faint(css("card"), 0.75), borderpad: 3 })),
  })).then(place);
}

function lines() {
  return Object.entries(LINES).filter(([name]) => shown.lines[name]?.omega.length).map(([name, [label, dash, ink]]) => {
    const { omega, alpha, error } = shown.lines[name];
    return { type: "scatter", mode: "lines", name: label, x: omega, y: alpha, line: { color: ink(), width: name === "train-loss" ? 3 : 2, dash },
      error_y: { type: "data", array: error, color: ink(), thickness: 1, width: 2 }, hoverinfo: "skip" };
  });
}

function marks() {
  const found = { x: [], y: [] };
  shown.broken?.forEach((row, i) => row.forEach((broken, j) => { if (broken) { found.x.push(shown.omega[i]); found.y.push(shown.alpha[j]); } }));
  if (!found.x.length) return [];
  return [{ type: "scatter", mode: "markers", name: "replica symmetry broken", ...found, hoverinfo: "skip",
    marker: { symbol: "triangle-up-open", size: 8, color: css("ink"), line: { width: 1.3 } } }];
}

const ends = (values) => {
  const half = (values[1] - values[0]) / 2;
  return [values[0] - half, values.at(-1) + half];
};

function place() {
  const { xaxis, yaxis } = plot._fullLayout ?? {};
  if (!xaxis) return;
  const within = (ax, x) => Math.max(0, Math.min(ax._length, ax.d2p(x)));
  handle.style.left = `${xaxis._offset + within(xaxis, state.omega)}px`;
  handle.style.top = `${yaxis._offset + within(yaxis, state.alpha)}px`;
  handle.style.visibility = "visible";
  handle.setAttribute("aria-valuenow", state.alpha);
  handle.setAttribute("aria-valuetext", `α ${state.alpha}, ω ${state.omega}`);
}

export function reading(html) { document.getElementById("diagram-reading").innerHTML = html; }

const snapped = (name, x) => Number((Math.round(x / STEP[name]) * STEP[name]).toFixed(4));

function moveTo(event) {
  const at = dataAt(plot, event);
  if (at) go(at.y, at.x);
}

function go(alpha, omega) {
  const [low, high] = ends(shown.alpha), [left, right] = ends(shown.omega);
  const clipped = { alpha: snapped("alpha", Math.min(high, Math.max(low, alpha))), omega: snapped("omega", Math.min(right, Math.max(left, omega))) };
  clipped.alpha = Math.max(0.1, clipped.alpha);
  clipped.omega = Math.max(0, clipped.omega);
  if (inside("alpha", clipped.alpha) && inside("omega", clipped.omega)) change(clipped);
}

function grab(event) {
  event.preventDefault();
  handle.focus({ preventScroll: true });
  handle.setPointerCapture(event.pointerId);
  const { xaxis, yaxis } = plot._fullLayout;
  const drag = (at) => {
    const box = plot.getBoundingClientRect();
    go(yaxis.p2d(at.clientY - box.top - yaxis._offset), xaxis.p2d(at.clientX - box.left - xaxis._offset));
  };
  drag(event);
  const drop = () => { handle.removeEventListener("pointermove", drag); handle.removeEventListener("pointerup", drop); handle.removeEventListener("pointercancel", drop); };
  for (const [name, listener] of [["pointermove", drag], ["pointerup", drop], ["pointercancel", drop]]) handle.addEventListener(name, listener);
}

function steer(event) {
  const step = event.shiftKey ? 10 : 2;
  const moves = { ArrowUp: [step, 0], ArrowDown: [-step, 0], ArrowRight: [0, step], ArrowLeft: [0, -step] };
  if (!moves[event.key]) return;
  event.preventDefault();
  const [up, right] = moves[event.key];
  go(state.alpha + up * STEP.alpha, state.omega + right * STEP.omega);
}
