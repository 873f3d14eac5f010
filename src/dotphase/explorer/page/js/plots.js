// What all plots share: colours of the theme, drawing at most once per frame, and taking a plot or its data away.

import { resting } from "./state.js";

export const TEXT = 13; // pixels, of the smallest text
const REST = 400; // milliseconds without a change after which plots that take long are drawn
export const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
export const colour = (branch) => (branch === "semantic" || branch === "positional" ? css(branch) : css("soft"));

export function faint(hex, share) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  return `rgba(${r},${g},${b},${share})`;
}

export function layout(extra = {}) {
  return { paper_bgcolor: css("card"), plot_bgcolor: css("card"), font: { color: css("ink"), size: TEXT, family: "system-ui, DejaVu Sans, sans-serif" },
    margin: { l: 52, r: 12, t: 22, b: 40 }, showlegend: false, hovermode: "closest", dragmode: false, ...extra };
}

export function axis(title, extra = {}) {
  const fixed = { gridcolor: css("grid"), linecolor: css("line"), zeroline: false, fixedrange: true, ticks: "outside", tickcolor: css("line") };
  return { title: { text: title, standoff: 6 }, ...fixed, ...extra };
}

export const caption = (text, xref, yref) => ({ text: `<b>${text}</b>`, xref: `${xref} domain`, yref: `${yref} domain`,
  x: 0, y: 1, xanchor: "left", yanchor: "bottom", showarrow: false, font: { size: TEXT } });

// Draw when the browser next paints, with whatever is known by then; but what has a `pause` is not drawn again within as many
// milliseconds, nor while the state keeps changing: drawing takes time that a finger on the ring wants.
export function painter(paint, pause = 0) {
  let frame = 0, timer = 0, last = -Infinity;
  const now = () => {
    frame ||= requestAnimationFrame(() => {
      clearTimeout(timer);
      frame = timer = 0;
      paint();
      last = performance.now();
    });
  };
  const ask = () => {
    const wait = pause && Math.max(last + pause - performance.now(), REST - resting());
    if (wait <= 0) now();
    else timer ||= setTimeout(() => { timer = 0; ask(); }, wait);
  };
  return ask;
}

export function draw(id, traces, shape) {
  const plot = typeof id === "string" ? document.getElementById(id) : id;
  if (!plot.data) sizes.observe(plot);
  return window.Plotly.react(plot, traces, shape, { displayModeBar: false });
}

// The values under a pointer, in a small box beside it; without words the box goes.
export function hint(event, html) {
  const box = document.getElementById("hint");
  box.hidden = !html;
  if (!html) return;
  box.innerHTML = html;
  const { width, height } = box.getBoundingClientRect();
  box.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 4))}px`;
  box.style.top = `${event.clientY + 18 + height > innerHeight ? event.clientY - height - 12 : event.clientY + 18}px`;
}

// A plot follows its box, whatever has changed it: the window, a theme, words that need another line.
const sizes = new ResizeObserver((entries) => {
  for (const { target, contentRect: { width, height } } of entries) {
    const { width: drawn, height: tall } = target._fullLayout ?? {};
    if (drawn && width && height && (Math.abs(drawn - width) > 1 || Math.abs(tall - height) > 1)) window.Plotly.relayout(target, { width: null, height: null, autosize: true });
  }
});

// Where on which axes a pointer is: data coordinates, or null outside of all subplots.
export function dataAt(plot, event) {
  const box = plot.getBoundingClientRect();
  const [x, y] = [event.clientX - box.left, event.clientY - box.top];
  for (const name of Object.keys(plot._fullLayout?._plots ?? {})) {
    const { xaxis, yaxis } = plot._fullLayout._plots[name];
    const [left, top] = [x - xaxis._offset, y - yaxis._offset];
    if (left >= 0 && left <= xaxis._length && top >= 0 && top <= yaxis._length) return { x: xaxis.p2d(left), y: yaxis.p2d(top) };
  }
  return null;
}

export function addTools() {
  for (const box of document.querySelectorAll(".tools")) {
    for (const kind of ["SVG", "PNG", "CSV"]) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = kind;
      button.setAttribute("aria-label", `Download ${box.dataset.name} as ${kind}`);
      button.addEventListener("click", () => take(box.dataset.plot, box.dataset.name, kind));
      box.append(button);
    }
  }
}

// A plot that is about to be drawn is taken when it is.
async function take(id, name, kind) {
  const plot = document.getElementById(id);
  for (let tries = 0; !plot.data; tries++) {
    if (tries === 50) return;
    await new Promise((done) => setTimeout(done, 100));
  }
  if (kind === "CSV") return save(`${name}.csv`, table(plot), "text/csv");
  const { offsetWidth: width, offsetHeight: height } = plot;
  window.Plotly.downloadImage(plot, { format: kind.toLowerCase(), filename: name, width, height, scale: 2 });
}

// Every trace that has a name, point by point: trace, x, y (and z), error.
export function table(plot) {
  const rows = [["trace", "x", "y", "z", "error"]];
  for (const trace of plot.data) {
    if (!trace.name || trace.meta === "decoration") continue;
    if (trace.z) trace.z.forEach((line, j) => line.forEach((z, i) => rows.push([trace.name, trace.x[i], trace.y[j], trace.customdata?.[j]?.[i] ?? z, ""])));
    else trace.x.forEach((x, i) => rows.push([trace.name, x, trace.y[i], "", trace.error_y?.array?.[i] ?? trace.meta?.[i] ?? ""]));
  }
  const quoted = (cell) => (/[",\n]/.test(cell) ? `"${String(cell).replaceAll('"', '""')}"` : cell ?? "");
  return rows.map((row) => row.map(quoted).join(",")).join("\n") + "\n";
}

export function save(name, text, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// What the server says, as text within HTML.
export const safe = (text) => String(text).replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

// value ± error, the error with two digits and the value cut to match.
export function written({ value, error }) {
  if (value === null) return "?";
  if (error === null || !(error > 0)) return Number(value.toPrecision(4)).toString();
  const digits = Math.max(0, Math.min(9, 1 - Math.floor(Math.log10(error))));
  return `${value.toFixed(digits)} ± ${error.toFixed(digits)}`;
}
