// The controls of the scenario and of training: each shows one number or word of the state, and changes it.

import { bounds, change, DEFAULTS, inside, onChange, SCENARIO, state } from "./state.js";

const RANGES = { alpha: [0.1, 3, 0.01], omega: [0, 0.5, 0.005], sigma: [0.2, 1.5, 0.01], lambda: [-3, 0, 0.01], correlation: [-0.9, 0.9, 0.01] };
const NUMBERS = ["d", "seed", "seeds"];
const WORDS = ["student", "minimum", "along", "start", "optimiser"];
const LETTERS = { alpha: "α", omega: "ω", sigma: "σ", lambda: "λ", correlation: "The correlation" };
let tell = () => {}, choices = {}; // the only values that a parameter has in the tables of a page without a server
const chosen = (name, x) => choices[name]?.reduce((best, value) => (Math.abs(value - x) < Math.abs(best - x) ? value : best)) ?? x;
const at = (id) => document.getElementById(id);

// The ridge's slider is logarithmic.
const toSlider = (name, x) => (name === "lambda" ? Math.log10(x) : x);
const fromSlider = (name, x) => Number((name === "lambda" ? 10 ** x : x).toPrecision(name === "lambda" ? 3 : 6));

export function start(about, notice) {
  tell = notice;
  at("student").replaceChildren(...Object.entries(about.students).map(([value, words]) => new Option(words, value)));
  choices = about.choices ?? {};
  for (const [name, [low, high, step]] of Object.entries(RANGES)) {
    const slider = at(`${name}-range`), [least, greatest] = bounds(name);
    Object.assign(slider, { min: low, max: high, step });
    Object.assign(at(name), { min: least, max: greatest, step: "any" });
    slider.addEventListener("input", () => change({ [name]: chosen(name, fromSlider(name, Number(slider.value))) }));
  }
  for (const name of [...Object.keys(RANGES), ...NUMBERS]) at(name).addEventListener("change", () => typed(name));
  for (const name of WORDS) at(name).addEventListener("change", () => change({ [name]: at(name).value }));
  for (const entry of document.querySelectorAll("[data-entry]")) entry.addEventListener("change", matrix);
  at("reset").addEventListener("click", () => change(Object.fromEntries(SCENARIO.map((name) => [name, DEFAULTS[name]]))));
  onChange(show);
  show();
}

function typed(name) {
  const text = at(name).value, number = Number(text), whole = NUMBERS.includes(name);
  if (choices[name] && !choices[name].includes(number)) {
    tell(`Without a server ${LETTERS[name]} is one of ${choices[name].join(", ")}; ${text || "this"} is not used.`);
    at(name).value = state[name];
  } else if (text !== "" && inside(name, number) && (!whole || Number.isInteger(number))) {
    tell("");
    change({ [name]: number });
  } else {
    const [least, greatest] = bounds(name);
    tell(`${LETTERS[name] ?? name} must be a ${whole ? "whole " : ""}number between ${least} and ${greatest}; ${text || "this"} is not used.`);
    at(name).value = state[name];
  }
  show();
}

function matrix() {
  const entries = [...document.querySelectorAll("[data-entry]")].map((entry) => Number(entry.value));
  const good = entries.every((x) => inside("A", x));
  tell(good ? "" : `Entries of A must be numbers between ${bounds("A").join(" and ")}.`);
  if (good) change({ A: entries });
  show();
}

function show() {
  for (const name of Object.keys(RANGES)) {
    at(`${name}-range`).value = toSlider(name, state[name]);
    at(`${name}-range`).setAttribute("aria-valuetext", state[name]);
  }
  for (const name of [...Object.keys(RANGES), ...NUMBERS, ...WORDS]) if (at(name) !== document.activeElement || at(name).tagName === "SELECT") at(name).value = state[name];
  document.querySelectorAll("[data-entry]").forEach((entry, k) => { entry.value = state.A[k]; });
  at("student").title = at("student").selectedOptions[0].textContent; // formulas may be longer than the box
  at("hold").checked = state.held !== "";
}
