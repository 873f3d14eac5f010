// View 4: what attention looks at. One sentence, one sample's inner landscape, and the tab with the counting letters.

import { ask } from "./api.js";
import * as counting from "./counting.js";
import { axis, caption, colour, css, draw, layout, painter, safe } from "./plots.js";
import { change, onChange, SCENARIO, state, task, touches } from "./state.js";

const WHO = [["teacher", "teacher"], ["positional", "positional student"], ["semantic", "semantic student"]];
const tabs = ["sentence", "counting"];
let sentence = null, landscape = null, later = 0, asking = null;
export const paint = painter(paintNow);

export function start() {
  document.getElementById("sentence-next").addEventListener("click", () => change({ sentence: (state.sentence + 1) % 2147483647 }));
  document.getElementById("landscape").addEventListener("change", (event) => change({ landscape: event.target.value }));
  for (const name of tabs) {
    const tab = document.getElementById(`tab-${name}`);
    tab.addEventListener("click", () => change({ view: name }));
    tab.addEventListener("keydown", (event) => {
      if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
      const other = tabs.find((tab) => tab !== state.view);
      change({ view: other });
      document.getElementById(`tab-${other}`).focus();
    });
  }
  onChange((changed) => {
    if (changed.has("view")) show();
    if (touches(changed, [...SCENARIO, "sentence", "landscape"])) soon();
  });
  counting.start();
  show();
  request();
}

function show() {
  for (const name of tabs) {
    const tab = document.getElementById(`tab-${name}`);
    tab.setAttribute("aria-selected", String(state.view === name));
    tab.tabIndex = state.view === name ? 0 : -1;
    document.getElementById(`panel-${name}`).hidden = state.view !== name;
  }
  Object.assign(document.getElementById("looks-tools").dataset, { plot: `${state.view}-plot`, name: state.view === "sentence" ? "attention" : "counting" });
  paint();
  counting.paint();
}

// Dragging asks for many sentences: only the last matters, and the branches come first.
function soon() {
  clearTimeout(later);
  later = setTimeout(request, 500);
}

async function request() {
  asking?.abort();
  const mine = asking = new AbortController();
  document.getElementById("landscape").value = state.landscape;
  document.getElementById("landscape-box").hidden = !state.landscape;
  const body = { task: task(), seed: state.sentence, minimum: state.minimum };
  try {
    sentence = await ask("/api/sentence", body, mine.signal);
    say("sentence", told());
    paint();
    if (!state.landscape) return;
    say("landscape", "searching for a torn sample …");
    document.getElementById("landscape-plot").hidden = true;
    landscape = await ask("/api/sentence", { ...body, landscape: state.landscape }, mine.signal);
    document.getElementById("landscape-plot").hidden = false;
    const { lowest, reached } = landscape.minima;
    say("landscape", reached ? `Two valleys, almost equally deep: a tiny push decides. Lowest ${lowest.energy.toPrecision(4)}, reached ${reached.energy.toPrecision(4)}: of ${landscape.candidates} samples the one that is most torn.` : `One valley: here all of ${landscape.candidates} samples come to rest in their lowest.`);
    paint();
  } catch (error) {
    if (error.name === "AbortError") return;
    if (error.status === 429) { soon(); return; }
    if (state.landscape) landscape = null;
    say(state.landscape ? "landscape" : "sentence", safe(error.message));
  }
}

const say = (name, html) => { document.getElementById(`${name}-reading`).innerHTML = html; };

function told() {
  const far = (name) => sentence[name] && Math.max(...sentence.teacher.attention.flatMap((row, i) => row.map((x, j) => Math.abs(x - sentence[name].attention[i][j]))));
  const parts = WHO.slice(1).map(([name, title]) => `<b class="${name}">${title}</b> ${sentence[name] ? `off by at most ${far(name).toFixed(2)}` : "does not exist here"}`);
  return `${parts.join("; ")}.`;
}

function paintNow() {
  if (!window.Plotly || state.view !== "sentence") return;
  if (sentence) paintSentence();
  if (landscape && state.landscape) paintLandscape();
}

function paintSentence() {
  const narrow = document.getElementById("sentence-plot").clientWidth < 520;
  const shape = layout({ grid: { rows: 1, columns: 3, pattern: "independent", xgap: 0.2 }, annotations: [] });
  const traces = WHO.map(([name, title], k) => {
    const n = k ? k + 1 : "", words = ["1st", "2nd"];
    shape[`xaxis${n}`] = axis(k === 1 ? "word looked at" : "", { ticks: "", showgrid: false });
    shape[`yaxis${n}`] = axis(k ? "" : "word that looks", { autorange: "reversed", ticks: "", showgrid: false, showticklabels: !(narrow && k) });
    shape.annotations.push(caption(sentence[name] ? (narrow ? name : title) : `no ${name}`, `x${n}`, `y${n}`));
    const z = sentence[name]?.attention ?? [[null, null], [null, null]];
    return { type: "heatmap", name, x: words, y: words, z, xaxis: `x${n}`, yaxis: `y${n}`, zmin: 0, zmax: 1, showscale: false, hovertemplate: "%{y} word looks at the %{x}: %{z:.3f}<extra></extra>",
      texttemplate: "%{z:.2f}", textfont: { size: 15 }, xgap: 2, ygap: 2, colorscale: [[0, css("even")], [1, name === "teacher" ? css("soft") : colour(name)]] };
  });
  shape.margin = { l: 52, r: 8, t: 26, b: 40 };
  draw("sentence-plot", traces, shape);
}

function paintLandscape() {
  const { axis: ticks, energy, centre, minima } = landscape;
  const values = energy.flat(), low = Math.min(...values);
  const bent = ticks.map((_, j) => ticks.map((_, i) => Math.log10(energy[i][j] - low + 1e-3 * (Math.max(...values) - low))));
  const mark = (name, points, symbol, ink, size) => ({ type: "scatter", mode: "markers", name, x: points.map((z) => z[0]), y: points.map((z) => z[1]), hoverinfo: "skip",
    marker: { symbol, size, color: ink, line: { color: css("card"), width: 1.5 } } });
  draw("landscape-plot", [
    { type: "contour", name: "energy (logarithm)", x: ticks, y: ticks, z: bent, ncontours: 22, showscale: false, hoverinfo: "x+y", contours: { coloring: "heatmap" }, line: { width: 0.6, color: css("line") },
      colorscale: [[0, colour(state.landscape)], [1, css("even")]] },
    mark("believed before, w", [centre], "x", css("ink"), 11),
    mark("lowest minimum", [minima.lowest.z], "circle", css("ink"), 13),
    ...(minima.reached ? [mark("training reaches", [minima.reached.z], "circle-open", css("ink"), 13)] : []),
  ], layout({ xaxis: axis("field of the 1st word, z₁"), yaxis: axis("field of the 2nd, z₂"), showlegend: true,
    ...(document.getElementById("landscape-plot").clientHeight < 300 ? { legend: { y: 0.5, x: 1.01 }, margin: { l: 52, r: 150, t: 8, b: 40 } }
      : { legend: { orientation: "h", y: 1.02, yanchor: "bottom" }, margin: { l: 52, r: 10, t: 44, b: 42 } }) }));
}
