// The one state that all views show. It lives in the address, and is restored from there exactly.

export const DEFAULTS = Object.freeze({
  alpha: 2, omega: 0.3, sigma: 0.5, lambda: 0.01, correlation: 0, A: Object.freeze([0.6, 0.4, 0.4, 0.6]), student: "softmax", minimum: "lowest",
  along: "alpha", held: "", d: 400, start: "random", optimiser: "gd", seed: 0, seeds: 1,
  sentence: 3, landscape: "", view: "sentence", letters: "HELLOWORLD", theme: "",
});
const WORDS = {
  minimum: ["lowest", "reached"], along: ["alpha", "omega", "sigma", "lambda"], held: ["", "semantic", "positional"],
  start: ["random", "semantic", "positional"], optimiser: ["gd", "adam", "lbfgs"], landscape: ["", "semantic", "positional"],
  view: ["sentence", "counting"], theme: ["", "light", "dark"], student: ["softmax"],
};
const BOUNDS = { sentence: [0, 2147483647], A: [-1, 2] };
const WHOLE = ["d", "seed", "seeds", "sentence"];
const listeners = [];
export const state = { ...DEFAULTS };

// What the server says about bounds and students comes before anything is read from the address.
export function learn(about) {
  WORDS.student = Object.keys(about.students);
  for (const [name, { least, greatest }] of Object.entries(about.bounds)) BOUNDS[name] = [least, greatest];
}

export const bounds = (name) => BOUNDS[name];

export function onChange(listener) { listeners.push(listener); }

let writing = 0, moved = -Infinity;
export const resting = () => performance.now() - moved; // milliseconds since anything has changed
export function change(part) {
  const changed = Object.keys(part).filter((name) => JSON.stringify(state[name]) !== JSON.stringify(part[name]));
  if (!changed.length) return;
  for (const name of changed) state[name] = part[name];
  moved = performance.now();
  clearTimeout(writing);
  writing = setTimeout(() => history.replaceState(null, "", address()), 120);
  for (const listener of listeners) listener(new Set(changed));
}

// Numbers are written as JavaScript prints them: the shortest text that reads back to the same number.
export function address() {
  const parts = Object.keys(DEFAULTS).map((name) => [name, name === "A" ? state.A.join(",") : String(state[name])]);
  return "#" + new URLSearchParams(parts).toString();
}

export function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  const part = {};
  for (const [name, text] of given) {
    const value = read(name, text);
    if (value !== undefined) part[name] = value;
  }
  return { ...DEFAULTS, ...part };
}

function read(name, text) {
  if (!(name in DEFAULTS)) return undefined;
  if (name === "letters") return text.slice(0, 60);
  if (WORDS[name]) return WORDS[name].includes(text) ? text : undefined;
  if (name === "A") {
    const entries = text.split(",").map(Number);
    return entries.length === 4 && entries.every((x) => inside("A", x)) ? entries : undefined;
  }
  const number = Number(text);
  return text !== "" && inside(name, number) && (!WHOLE.includes(name) || Number.isInteger(number)) ? number : undefined;
}

export const inside = (name, x) => Number.isFinite(x) && x >= BOUNDS[name][0] && x <= BOUNDS[name][1];

// The scenario as the server wants it.
export function task(part = {}) {
  const s = { ...state, ...part };
  return { alpha: s.alpha, omega: s.omega, sigma: s.sigma, lambda: s.lambda, correlation: s.correlation, student: s.student,
    positional: [s.A.slice(0, 2), s.A.slice(2)] };
}

export const PLANE = ["sigma", "lambda", "correlation", "A", "student", "minimum"]; // of which a phase diagram depends
export const SCENARIO = ["alpha", "omega", ...PLANE];
export const touches = (changed, names) => names.some((name) => changed.has(name));
export const isDefaultPlane = () => PLANE
  .every((name) => JSON.stringify(state[name]) === JSON.stringify(DEFAULTS[name]));
