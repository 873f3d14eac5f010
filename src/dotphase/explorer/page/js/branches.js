// View 2: both branches along a parameter. Points are drawn as they are solved: few nodes first, then many, with bands.

import { channel } from "./api.js";
import { reading as diagramReading } from "./diagram.js";
import { axis, caption, colour, css, dataAt, draw, faint, hint, layout, painter, safe, written } from "./plots.js";
import { change, inside, onChange, SCENARIO, state, task, touches } from "./state.js";

const SHOWN = [["train_loss", "training loss ε<sub>t</sub>"], ["test_error", "test error ε<sub>g</sub>"], ["m", "position |m|"], ["theta", "meaning |θ|"]];
const NAMES = [["train_loss", "ε<sub>t</sub>"], ["test_error", "ε<sub>g</sub>"], ["m", "|m|"], ["theta", "|θ|"]];
const TITLES = { alpha: "samples per dimension α", omega: "how positional the teacher is, ω", sigma: "spread of the words σ", lambda: "ridge λ" };
const SYMBOLS = { alpha: "α", omega: "ω", sigma: "σ", lambda: "λ" };
const BRANCHES = ["semantic", "positional"];
const STAGES = ["coarse", "fine", "exact", "table"]; // few nodes, many, as the command line solves it; or from the tables
const STEP = { alpha: 0.05, omega: 0.01, sigma: 0.02, lambda: 0.001 };
const points = channel("/api/branches");
const plot = document.getElementById("branches-plot");
const pad = document.getElementById("branches-pad");
const dots = document.getElementById("branches-dots");
let solved = null, asked = "", walked = [];
export const paint = painter(paintNow, 300);
const dot = painter(dotNow);
const watchers = [];

// What the other views want to know: the two solutions at the point, {semantic, positional}, when they are solved.
export function onPoint(watcher) { watchers.push(watcher); }
export const here = () => Object.fromEntries(BRANCHES.map((branch) => [branch, solved?.points[branch].get(state[state.along])]));

export function start() {
  onChange((changed) => {
    if (changed.has("along") || changed.has("held")) walked = [];
    if (touches(changed, [...SCENARIO, "along"])) request();
    else {
      if (changed.has("held")) tell();
      paint();
    }
  });
  document.getElementById("hold").addEventListener("change", (event) => change({ held: event.target.checked ? winner() || "semantic" : "" }));
  for (const [id, sign] of [["walk-down", -1], ["walk-up", 1]]) document.getElementById(id).addEventListener("click", () => walk(sign));
  pad.addEventListener("pointerdown", (event) => { if (event.pointerType === "mouse") { pad.setPointerCapture(event.pointerId); jump(event); } });
  pad.addEventListener("pointermove", (event) => { if (event.buttons && event.pointerType === "mouse") jump(event); });
  pad.addEventListener("click", jump);
  pad.addEventListener("pointermove", (event) => hint(event, event.buttons ? "" : valuesAt(dataAt(plot, event))));
  pad.addEventListener("pointerleave", (event) => hint(event, ""));
  request();
}

// Along the parameter itself nothing but the point is new: what is solved stays on the screen.
function request() {
  const rest = JSON.stringify([state.along, state.minimum, { ...task(), [state.along]: null }]);
  if (rest !== asked) {
    asked = rest;
    walked = [];
    const empty = () => ({ semantic: new Map(), positional: new Map() });
    solved = { points: empty(), other: empty(), baseline: new Map() };
    plot.classList.add("stale"); // until the curves of this problem are drawn
  }
  performance.mark("asked");
  points.start({ task: task(), along: state.along, minimum: state.minimum }, receive);
  tell();
  dot();
  paint(); // what was there stays until there is something to draw
}

function receive(message) {
  if (message.event === "grid") forget(message.values);
  if (message.event === "point" && message.minimum !== state.minimum) solved.other[message.branch].set(message.value, message);
  else if (message.event === "point") {
    const known = solved.points[message.branch].get(message.value);
    if (!known || STAGES.indexOf(known.stage) <= STAGES.indexOf(message.stage)) solved.points[message.branch].set(message.value, message);
    if (message.value === state[state.along]) tell();
    dot();
  }
  if (message.event === "baseline") solved.baseline.set(message.value, message.test_error);
  if (["busy", "failed"].includes(message.event)) note(`The solver says: ${safe(message.reason)}.`);
  paint();
}

// Points on few nodes that a walk or a slow drag has left behind: nobody refines them any more.
function forget(values) {
  for (const known of Object.values(solved.points)) {
    for (const [value, { stage }] of known) if (stage === "coarse" && !values.includes(value)) known.delete(value);
  }
}

const usable = (point) => point?.numbers;

export function winner() {
  const [s, p] = BRANCHES.map((branch) => here()[branch]);
  if (!s || !p) return "";
  if (!usable(s) || !usable(p)) return usable(s) ? "semantic" : usable(p) ? "positional" : "";
  return s.numbers.train_loss.value < p.numbers.train_loss.value ? "semantic" : "positional";
}

function tell() {
  const at = here(), first = winner();
  if (!first) { note(at.semantic && at.positional ? `No branch here: ${safe(at.semantic.reason || at.positional.reason)}` : "solving …"); return; }
  hold(at);
  const other = first === "semantic" ? "positional" : "semantic";
  const says = (branch) => (usable(at[branch]) ? `ε<sub>t</sub> = ${written(at[branch].numbers.train_loss)}, ε<sub>g</sub> = ${written(at[branch].numbers.test_error)}`
    : `not here (${safe(at[branch].reason || at[branch].outcome)})`);
  const stage = ["exact", "table"].includes(at[first].stage) ? "" : " …";
  diagramReading(`α = ${state.alpha}, ω = ${state.omega}: <b class="${first}">${first}</b> wins${stage}`);
  const held = state.held ? ` You are on the <b class="${state.held}">${state.held}</b> branch${state.held === first ? "" : ", which is not the best any more"}.` : "";
  note(`<b class="${first}">${first}</b> ${says(first)}; <b class="${other}">${other}</b> ${says(other)}.${held}`);
  for (const watcher of watchers) watcher();
}

// Hysteresis: the held branch is kept as long as it exists; where it ends, one falls onto the other.
function hold(at) {
  if (!state.held) return;
  if (!usable(at[state.held])) {
    const other = BRANCHES.find((branch) => branch !== state.held);
    if (usable(at[other])) { const path = walked; change({ held: other }); walked = path; }
  }
  const loss = at[state.held]?.numbers?.train_loss.value;
  const value = state[state.along];
  if (loss !== undefined && walked.at(-1)?.[0] !== value) walked = [...walked.slice(-300), [value, loss]];
}

function walk(sign) {
  const step = STEP[state.along];
  const value = Number((state[state.along] + sign * step).toFixed(6));
  if (!state.held) change({ held: winner() || "semantic" });
  if (inside(state.along, value)) change({ [state.along]: value });
}

function jump(event) {
  const at = dataAt(plot, event);
  if (!at) return;
  const step = STEP[state.along] / 5;
  const value = Number((Math.round(at.x / step) * step).toFixed(6));
  if (inside(state.along, value)) change({ [state.along]: value });
}

// The solved points nearest to a value, in all their numbers.
function valuesAt(at) {
  if (!at || !solved) return "";
  const says = BRANCHES.flatMap((branch) => {
    const near = [...solved.points[branch].values()].filter(usable).sort((a, b) => Math.abs(a.value - at.x) - Math.abs(b.value - at.x))[0];
    if (!near) return [];
    return [`<b class="${branch}">${branch}</b> at ${SYMBOLS[state.along]} = ${near.value}: ${NAMES.map(([name, sign]) => `${sign} = ${written(near.numbers[name])}`).join(", ")}`];
  });
  return says.join("<br>");
}

function note(html) { document.getElementById("branches-reading").innerHTML = html; }

function paintNow() {
  if (!solved || !window.Plotly) return;
  if (plot.data && !BRANCHES.some((branch) => solved.points[branch].size)) return;
  const something = BRANCHES.some((branch) => [...solved.points[branch].values()].some(usable)); // no numbers on empty axes
  const columns = plot.clientWidth < 520 && plot.clientHeight > 700 ? 1 : plot.clientHeight < 320 ? 4 : 2;
  const gaps = { 1: [0.16, 0.35], 2: [0.16, 0.3], 4: [0.32, 0] }[columns];
  const frame = layout({ grid: { rows: 4 / columns, columns, pattern: "independent", xgap: gaps[0], ygap: gaps[1] }, annotations: [], shapes: [] });
  frame.margin = { l: columns === 4 ? 46 : 58, r: 10, t: 24, b: 40 };
  const traces = SHOWN.flatMap(([name, title], k) => {
    const n = k ? k + 1 : "", last = k >= 4 - columns;
    frame[`xaxis${n}`] = axis(last ? (columns === 4 ? SYMBOLS : TITLES)[state.along] : "", { type: state.along === "lambda" ? "log" : "linear", showticklabels: something });
    frame[`yaxis${n}`] = axis("", { rangemode: k > 1 ? "tozero" : "normal", exponentformat: "e", nticks: 5, showticklabels: something });
    frame.annotations.push(caption(title, `x${n}`, `y${n}`));
    frame.shapes.push({ type: "line", xref: `x${n}`, yref: `y${n} domain`, x0: state[state.along], x1: state[state.along], y0: 0, y1: 1, line: { color: css("ink"), width: 1 } });
    return [...BRANCHES.flatMap((branch) => [...otherTheory(branch, name, n), ...curves(branch, name, n)]), ...extras(name, n)];
  });
  plot.classList.remove("stale");
  draw(plot, traces, frame).then(() => dots.replaceChildren());
}

// Curves take a tenth of a second to draw. Until then every new point is a dot over the axes that are there, at once.
function dotNow() {
  const { _plots: frames } = plot._fullLayout ?? {};
  if (!frames || !solved) return;
  const names = Object.keys(frames), circles = [];
  for (const branch of BRANCHES) {
    for (const { value, numbers } of solved.points[branch].values()) {
      if (numbers) SHOWN.forEach(([name], k) => circles.push(circle(frames[names[k]], value, numbers[name].value, branch)));
    }
  }
  names.forEach((name) => circles.push(rule(frames[name])));
  dots.replaceChildren(...circles);
  measure();
}

const shape = (kind, attributes) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
};
const within = (ax, x) => ax._offset + Math.max(0, Math.min(ax._length, ax.d2p(x)));
const circle = ({ xaxis, yaxis }, x, y, branch) => shape("circle", { cx: within(xaxis, x), cy: within(yaxis, y), r: x === state[state.along] ? 6 : 3, fill: colour(branch) });
const rule = ({ xaxis, yaxis }) => shape("line", { x1: within(xaxis, state[state.along]), x2: within(xaxis, state[state.along]), y1: yaxis._offset, y2: yaxis._offset + yaxis._length, stroke: css("ink") });

// How long it took from the request to the first point of it on the screen: read by the benchmark.
function measure() {
  if (!here().semantic && !here().positional) return;
  const asking = asked + state[state.along];
  if (plot.dataset.drawn === asking) return;
  plot.dataset.first = String(performance.now() - performance.getEntriesByName("asked").at(-1).startTime);
  plot.dataset.drawn = asking;
}

function curves(branch, name, n) {
  const own = [...solved.points[branch].values()].sort((a, b) => a.value - b.value);
  const rivals = solved.points[branch === "semantic" ? "positional" : "semantic"];
  const wins = ({ value, numbers }) => !rivals.get(value)?.numbers || numbers.train_loss.value <= rivals.get(value).numbers.train_loss.value;
  const x = own.map((point) => point.value), y = own.map((point) => point.numbers?.[name].value ?? null);
  const error = own.map((point) => (point.stage !== "coarse" ? point.numbers?.[name].error ?? 0 : 0));
  const ink = colour(branch), at = { xaxis: `x${n}`, yaxis: `y${n}`, hoverinfo: "skip" };
  const thick = own.map((point, i) => (point.numbers && wins(point) ? y[i] : null));
  const kept = own.map((point, i) => i).filter((i) => y[i] !== null);
  const band = { x: [...kept.map((i) => x[i]), ...kept.map((i) => x[i]).reverse()],
    y: [...kept.map((i) => y[i] + 2 * error[i]), ...kept.map((i) => y[i] - 2 * error[i]).reverse()] };
  const line = (width, dash) => ({ color: ink, width, dash });
  const all = [
    { ...at, ...band, type: "scatter", mode: "none", fill: "toself", fillcolor: faint(ink, 0.22), meta: "decoration" },
    { ...at, x, y, type: "scatter", mode: "lines", line: line(1.6, "dash"), name: `${branch}, ${name}`, meta: error },
    { ...at, x, y: thick, type: "scatter", mode: "lines+markers", line: line(3.6, "solid"), marker: { size: 4 }, meta: "decoration" },
  ];
  const worth = [error.some((e) => e > 0), kept.length > 0, thick.some((value) => value !== null)];
  return all.filter((_, k) => worth[k]); // every trace costs milliseconds
}

// The theory that is not chosen, thin and dotted behind the chosen one.
function otherTheory(branch, name, n) {
  const own = [...solved.other[branch].values()].sort((a, b) => a.value - b.value);
  if (!own.length) return [];
  return [{ type: "scatter", mode: "lines", name: `${branch}, ${name}, ${own[0].minimum}`, x: own.map((point) => point.value), y: own.map((point) => point.numbers?.[name].value ?? null),
    xaxis: `x${n}`, yaxis: `y${n}`, hoverinfo: "skip", line: { color: colour(branch), width: 1.2, dash: "dot" } }];
}

function extras(name, n) {
  const at = { type: "scatter", xaxis: `x${n}`, yaxis: `y${n}`, hoverinfo: "skip" };
  const value = state[state.along], branch = state.held || winner(), found = here()[branch];
  const traces = [];
  if (name === "test_error" && solved.baseline.size) {
    const flat = [...solved.baseline].sort((a, b) => a[0] - b[0]);
    const ends = state.along !== "alpha" ? flat : [...solved.points.semantic.keys(), ...solved.points.positional.keys()].sort((a, b) => a - b).map((x) => [x, flat[0][1]]);
    traces.push({ ...at, mode: "lines", name: "linear baseline", x: ends.map(([x]) => x), y: ends.map(([, e]) => e.value), line: { color: css("soft"), width: 1.5, dash: "dot" } });
  }
  if (name === "train_loss" && walked.length > 1) traces.push({ ...at, mode: "lines", name: "walked", x: walked.map(([x]) => x), y: walked.map(([, y]) => y), line: { color: css("ink"), width: 1.5 } });
  if (usable(found)) traces.push({ ...at, mode: "markers", meta: "decoration", x: [value], y: [found.numbers[name].value], marker: { size: 12, color: colour(branch), line: { color: css("ink"), width: 2 } } });
  return traces;
}
