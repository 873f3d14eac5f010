// View 1: the phase diagram, and the ring that is dragged over it.

import { alone as noServer, channel, table } from "./api.js";
import { axis, colour, css, dataAt, draw, faint, hint, layout, painter, safe, TEXT } from "./plots.js";
import { largestSquare } from "./regions.js";
import { change, inside, isDefaultPlane, onChange, PLANE, state, task, touches } from "./state.js";

const LINES = {
  "train-loss": ["α<sub>c</sub>: losses cross", "solid", () => css("ink")],
  linear: ["α<sub>l</sub>: beats the linear baseline", "dash", () => css("ink")],
  "spinodal-semantic": ["semantic branch ends", "dot", () => colour("semantic")],
  "spinodal-positional": ["positional branch ends", "dot", () => colour("positional")],
};
const VAGUE = 0.3; // an error in α with which a line is no line; strokes mark where a branch is missing
const PALE = 0.35; // how much of its colour a region has where the other solution does not exist
const STEP = { alpha: 0.01, omega: 0.005 };
const BRANCHES = ["semantic", "positional"];
const background = channel("/api/diagram");
const plot = document.getElementById("diagram-plot");
const handle = document.getElementById("handle");
const pad = document.getElementById("diagram-pad");
const bar = document.getElementById("diagram-progress");
let shipped = null, shown = null, later = 0;
export const paint = painter(paintNow);

const file = table("diagram"); // on its way before anyone asks

// Until the ring can be dragged.
export async function drawn() { while (!plot._fullLayout) await new Promise(requestAnimationFrame); }

export async function start() {
  shipped = shown = await file;
  refresh();
  onChange((changed) => {
    if (touches(changed, PLANE)) refresh();
    if (touches(changed, ["alpha", "omega"])) place();
  });
  pad.addEventListener("pointerdown", (event) => { if (event.pointerType === "mouse") grab(event); });
  pad.addEventListener("click", moveTo);
  pad.addEventListener("pointermove", (event) => hint(event, event.buttons ? "" : valuesAt(dataAt(plot, event))));
  pad.addEventListener("pointerleave", (event) => hint(event, ""));
  handle.addEventListener("pointerdown", grab);
  handle.addEventListener("keydown", steer);
  new ResizeObserver(() => requestAnimationFrame(place)).observe(plot);
}

function refresh() {
  clearTimeout(later);
  background.stop();
  bar.hidden = true;
  if (isDefaultPlane()) { shown = shipped; about(); paint(); return; }
  later = setTimeout(recompute, 500);
}

// Where the map's colours come from. The ring's own point is solved anew, to more digits.
function about() {
  const size = `${shown.omega.length} × ${shown.alpha.length} points`;
  const own = noServer ? "interpolated between such points" : "solved as the command line does";
  document.getElementById("diagram-source").textContent = `The map is a table of ${size} (single patches in the hatched parts: the solver found another solution there than beside it); beside it, the ring’s own point is ${own}.`;
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
  shown = { alpha, omega, margin: empty(null), winner: empty(""), broken: empty(false), missing: { semantic: empty(false), positional: empty(false) }, lines };
  bar.hidden = false;
  bar.value = 0;
  about();
}

function fill(row) {
  const at = shown.omega.indexOf(row.omega);
  shown.margin[at] = row.margin;
  shown.winner[at] = row.winner;
  shown.broken[at] = row.broken;
  for (const branch of BRANCHES) shown.missing[branch][at] = row.missing[branch];
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

// The branches that exist at a point of the map.
const existing = (i, j) => BRANCHES.filter((branch) => !shown.missing[branch][i][j] && shown.winner[i][j] && shown.winner[i][j] !== "unknown");

// −1 … 1, blue to orange: the difference of the losses where both solutions exist, a pale colour where one does.
function shades() {
  const both = shown.margin.flatMap((row, i) => row.filter((x, j) => x !== null && existing(i, j).length === 2));
  const largest = Math.max(1e-6, ...both.map(Math.abs));
  const bent = (x) => Math.sign(x) * Math.min(1, Math.log1p((30 * Math.abs(x)) / largest) / Math.log1p(30));
  return shown.winner.map((row, i) => row.map((_, j) => {
    const there = existing(i, j);
    if (there.length === 2) return bent(shown.margin[i][j]);
    return there.length ? PALE * (there[0] === "semantic" ? -1 : 1) : null;
  }));
}

function paintNow() {
  if (!shown || !window.Plotly) return;
  const turned = (table) => shown.alpha.map((_, j) => shown.omega.map((_, i) => table[i][j]));
  const heat = { type: "heatmap", name: "training loss, semantic − positional", x: shown.omega, y: shown.alpha, z: turned(shades()),
    customdata: turned(shown.margin), zmin: -1, zmax: 1, showscale: false, hoverinfo: "skip",
    colorscale: [[0, colour("semantic")], [0.5, css("even")], [1, colour("positional")]] };
  const beside = plot.clientHeight < 340 && plot.clientWidth > 500;
  draw(plot, [heat, ...alone(), ...lines(), ...marks()], layout({
    xaxis: axis("how positional the teacher is, ω", { range: ends(shown.omega) }), yaxis: axis("samples per dimension α", { range: ends(shown.alpha) }),
    showlegend: true, ...(beside
      ? { legend: { y: 0.5, x: 1.01, font: { size: TEXT } }, margin: { l: 50, r: 8, t: 8, b: 40 } }
      : { legend: { orientation: "h", y: 1.01, yanchor: "bottom", x: 0, font: { size: TEXT } }, margin: { l: 50, r: 8, t: plot.clientWidth < 500 ? 150 : 86, b: 42 } }),
    annotations: names(),
  })).then(place);
}

// The name of a region stands in the middle of its largest square; a region of a few points has none.
function names() {
  return BRANCHES.flatMap((branch) => {
    const found = largestSquare(shown.winner.map((row) => row.map((winner) => winner === branch)));
    if (found.side < 4) return [];
    const at = (values, middle) => (values[Math.floor(middle)] + values[Math.ceil(middle)]) / 2;
    return [{ text: `<b>${branch} wins</b>`, x: at(shown.omega, found.row), y: at(shown.alpha, found.column), showarrow: false,
      font: { size: TEXT + 1, color: css("ink") }, bgcolor: faint(css("card"), 0.75), borderpad: 3 }];
  });
}

// Strokes where only one of the two solutions exists, crosses where there is none.
function alone() {
  const looks = { semantic: ["only the semantic solution exists", "line-ne-open"], positional: ["only the positional solution exists", "line-nw-open"], none: ["no solution found", "x-thin-open"] };
  return Object.entries(looks).flatMap(([branch, [name, symbol]]) => {
    const found = { x: [], y: [] };
    shown.winner.forEach((row, i) => row.forEach((winner, j) => {
      const there = existing(i, j);
      if (winner && (branch === "none" ? !there.length : there.length === 1 && there[0] === branch)) { found.x.push(shown.omega[i]); found.y.push(shown.alpha[j]); }
    }));
    if (!found.x.length) return [];
    const ink = branch === "none" ? css("soft") : colour(branch);
    return [{ type: "scatter", mode: "markers", name, ...found, hoverinfo: "skip", marker: { symbol, size: 8, color: ink, line: { width: 1.4, color: ink } } }];
  });
}

// What the map's nearest point says.
function valuesAt(at) {
  if (!at || !shown) return "";
  const nearest = (values, x) => values.reduce((best, value, k) => (Math.abs(value - x) < Math.abs(values[best] - x) ? k : best), 0);
  const i = nearest(shown.omega, at.x), j = nearest(shown.alpha, at.y);
  if (!shown.winner[i][j]) return "";
  const there = existing(i, j), margin = shown.margin[i][j];
  const says = there.length === 2 ? `training loss, semantic − positional: ${margin.toExponential(1)}`
    : there.length ? `only the ${there[0]} solution exists` : "no solution found";
  return `Map at ω = ${shown.omega[i]}, α = ${shown.alpha[j]}: ${says}`;
}

function lines() {
  const sure = ([name]) => shown.lines[name]?.omega.length && shown.lines[name].error.every((error) => error < VAGUE);
  return Object.entries(LINES).filter(sure).map(([name, [label, dash, ink]]) => {
    const { omega, alpha, error } = shown.lines[name];
    return { type: "scatter", mode: "lines", name: label, x: omega, y: alpha, line: { shape: "spline", smoothing: 0.6, color: ink(), width: name === "train-loss" ? 3 : 2, dash },
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
