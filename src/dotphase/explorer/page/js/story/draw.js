// What the pictures of the story share: SVG shapes whose colours are the theme's, axes, attention matrices with words, and motion.

const still = matchMedia("(prefers-reduced-motion: reduce)");
export const moves = () => !still.matches;

export function shape(kind, attributes, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text) made.textContent = text;
  return made;
}

// Let `paint(share)` run from 0 to 1; at once for those who want no motion. Returns what stops it.
export function tween(milliseconds, paint, done = () => {}) {
  if (!moves()) { paint(1); done(); return () => {}; }
  const began = performance.now();
  let frame = requestAnimationFrame(function next(now) {
    const share = Math.min(1, Math.max(0, (now - began) / milliseconds));
    paint(share);
    if (share < 1) frame = requestAnimationFrame(next);
    else done();
  });
  return () => cancelAnimationFrame(frame);
}

// Call `act` once, when an element is first seen.
export function whenSeen(element, act) {
  const watcher = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    watcher.disconnect();
    act();
  }, { threshold: 0.35 });
  watcher.observe(element);
}

// A frame with two axes, drawn for the width that it has, so that text keeps its size. Returns where data lie: {x, y, svg, width}.
export function frame(svg, { x: [left, right], y: [low, high], titles, ticks, top = 14 }) {
  const width = Math.max(300, Math.min(600, svg.clientWidth)), height = Math.max(280, 0.66 * width);
  const margin = { left: 58, right: 14, top, bottom: 46 };
  const x = (value) => margin.left + ((value - left) / (right - left)) * (width - margin.left - margin.right);
  const y = (value) => height - margin.bottom - ((value - low) / (high - low)) * (height - margin.top - margin.bottom);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.replaceChildren(
    shape("path", { class: "axis", d: `M${x(left)},${y(high)}V${y(low)}H${x(right)}` }),
    ...ticks.x.map((value) => shape("text", { class: "tick", x: x(value), y: y(low) + 18, "text-anchor": "middle" }, String(value))),
    ...ticks.y.map((value) => shape("text", { class: "tick", x: x(left) - 6, y: y(value) + 4, "text-anchor": "end" }, String(value))),
    shape("text", { class: "title", x: (x(left) + x(right)) / 2, y: height - 8, "text-anchor": "middle" }, titles[0]),
    shape("text", { class: "title", x: 14, y: (y(low) + y(high)) / 2, "text-anchor": "middle", transform: `rotate(-90 14 ${(y(low) + y(high)) / 2})` }, titles[1]),
  );
  return { svg, x, y, width };
}

// Matrices side by side, or one above the other where that is too narrow to read.
export function arrange(svg, matrices) {
  const [wide, tall] = [212, 176], narrow = svg.clientWidth < 480;
  svg.setAttribute("viewBox", narrow ? `0 0 ${wide} ${tall * matrices.length}` : `0 0 ${wide * matrices.length} ${tall}`);
  svg.classList.toggle("narrow", narrow);
  svg.append(...matrices.map((matrix, k) => (narrow ? matrix.at(0, tall * k) : matrix.at(wide * k, 0))));
}

export const path = ({ x, y }, points) => points.map(([a, b], k) => `${k ? "L" : "M"}${x(a).toFixed(1)},${y(b).toFixed(1)}`).join("");

// An attention matrix, 2 × 2: rows look, columns are looked at; `words` stand on both axes. `colour` is a class name.
export class Matrix {
  constructor(title, colour) {
    this.group = shape("g", {});
    this.cells = [0, 1, 2, 3].map((k) => shape("rect", { class: `cell ${colour}`, x: 74 + 62 * (k % 2), y: 44 + 62 * (k >> 1), width: 60, height: 60, rx: 4 }));
    this.numbers = [0, 1, 2, 3].map((k) => shape("text", { class: "number", x: 104 + 62 * (k % 2), y: 79 + 62 * (k >> 1), "text-anchor": "middle" }));
    this.columns = [0, 1].map((k) => shape("text", { class: "word", x: 104 + 62 * k, y: 38, "text-anchor": "middle" }));
    this.rows = [0, 1].map((k) => shape("text", { class: "word", x: 68, y: 79 + 62 * k, "text-anchor": "end" }));
    this.group.append(shape("text", { class: "title", x: 135, y: 16, "text-anchor": "middle" }, title), ...this.cells, ...this.numbers, ...this.columns, ...this.rows);
    this.shown = [0.5, 0.5, 0.5, 0.5];
    this.stop = () => {};
  }

  at(x, y) {
    this.group.setAttribute("transform", `translate(${x} ${y})`);
    return this.group;
  }

  // Move to other numbers, and to other words at once.
  show(values, words) {
    [this.columns, this.rows].forEach((texts) => texts.forEach((text, k) => { text.textContent = words[k]; }));
    const from = this.shown;
    this.stop();
    this.stop = tween(500, (share) => {
      this.shown = values.map((value, k) => from[k] + share * (value - from[k]));
      this.shown.forEach((value, k) => {
        this.cells[k].style.fillOpacity = 0.6 * value; // the number must be read on it
        this.numbers[k].textContent = `${Math.round(100 * value)} %`;
      });
    });
  }
}
