// The counting tab: ten letters, two transformers.

import { ask } from "./api.js";
import { axis, caption, colour, css, draw, layout, painter } from "./plots.js";
import { change, onChange, state } from "./state.js";

const MODELS = ["semantic", "positional"];
const box = document.getElementById("letters");
const plot = document.getElementById("counting-plot");
let found = null, asking = null;
export const paint = painter(paintNow);

export function start() {
  box.value = state.letters;
  box.addEventListener("input", () => change({ letters: box.value }));
  onChange((changed) => {
    if (!changed.has("letters")) return;
    if (box.value !== state.letters) box.value = state.letters;
    request();
  });
  request();
}

async function request() {
  asking?.abort();
  const mine = asking = new AbortController();
  try {
    const answer = await ask("/api/count", { text: state.letters }, mine.signal);
    document.getElementById("counting-note").textContent = answer.note;
    if (answer.models) found = answer;
    fill(answer);
    paint();
  } catch (error) {
    if (error.name === "AbortError") return;
    if (error.status === 429) setTimeout(request, 500);
    else document.getElementById("counting-note").textContent = error.message;
  }
}

function fill({ letters, truth, models }) {
  const rows = [["letters", letters], ...(models ? [["true counts", truth], ...MODELS.map((name) => [name, models[name].counts])] : [])];
  const body = document.querySelector("#counts tbody");
  body.replaceChildren(...rows.map(([title, cells]) => {
    const line = document.createElement("tr");
    const head = document.createElement("th");
    head.scope = "row";
    head.textContent = title;
    line.append(head, ...cells.map((cell, i) => {
      const entry = document.createElement("td");
      entry.textContent = cell;
      if (MODELS.includes(title) && cell !== truth[i]) { entry.className = "wrong"; entry.title = "wrong"; }
      return entry;
    }));
    return line;
  }));
}

function paintNow() {
  if (!found || !window.Plotly || state.view !== "counting") return;
  const narrow = plot.clientWidth < 520 && plot.clientHeight > plot.clientWidth;
  const places = found.letters.map((_, i) => i + 1);
  const shape = layout({ grid: { rows: narrow ? 2 : 1, columns: narrow ? 1 : 2, pattern: "independent", xgap: 0.14, ygap: 0.22 }, annotations: [] });
  const traces = MODELS.map((name, k) => {
    const n = k ? k + 1 : "", letters = { tickvals: places, ticktext: found.letters, showgrid: false, ticks: "", tickangle: 0 };
    shape[`xaxis${n}`] = axis("looked at", letters);
    shape[`yaxis${n}`] = axis("", { ...letters, autorange: "reversed" });
    shape.annotations.push(caption(name, `x${n}`, `y${n}`));
    return { type: "heatmap", name, x: places, y: places, z: found.models[name].attention, xaxis: `x${n}`, yaxis: `y${n}`, zmin: 0, zmax: 0.6, showscale: false, hovertemplate: "place %{y} looks at %{x}: %{z:.3f}<extra></extra>",
      xgap: 1, ygap: 1, colorscale: [[0, css("even")], [1, colour(name)]] };
  });
  shape.margin = { l: 30, r: 8, t: 26, b: 42 };
  draw(plot, traces, shape);
}
