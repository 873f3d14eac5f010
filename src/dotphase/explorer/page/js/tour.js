// Sixty seconds through the transition: eight stations, each sets the state and says what is to be seen.

import { alone } from "./api.js";
import { change } from "./state.js";
import { begin } from "./training.js";

const SECONDS = 7.5;
const PAPER = { sigma: 0.5, lambda: 0.01, correlation: 0, A: [0.6, 0.4, 0.4, 0.6], student: "softmax", minimum: "lowest", along: "alpha", held: "", view: "sentence", landscape: "" };
const STATIONS = [
  ["diagram", "A map of learning problems", "Here a small attention learns from a teacher who cares both for what words mean and where they stand. Upwards there is more data; to the right the teacher is more positional.", { ...PAPER, alpha: 2, omega: 0.3 }],
  ["diagram", "With much data, meaning wins", "At α = 2 the best student is semantic: it reads the words. The ring lies in the blue.", { alpha: 2, omega: 0.3 }],
  ["diagram", "With little data, position wins", "Move down to α = 1, in the orange: reading words is hard to learn from few examples, looking at places is easy.", { alpha: 1, omega: 0.3 }],
  ["branches", "Two solutions, one winner", "Near the line both solutions exist on both sides. Their training losses cross at α = 1.25, and the best one changes at once: a phase transition, as when water freezes.", { alpha: 1.25, omega: 0.3 }],
  ["branches", "Hysteresis", "Like undercooled water, one can stay on the wrong branch. Walk down from the semantic side: it survives below the crossing, and ends only near α = 0.7.", { alpha: 0.85, omega: 0.3, held: "semantic" }],
  ["training", "A real network", "Now a network of 400 dimensions trains by gradient descent from a random start. The diamonds are the two solutions. With so much data as here meaning would be better, yet nearly all networks end near position." + (alone ? "" : " The dashed line is the theory of this very run."), { alpha: 2, omega: 0.3, held: "", d: 400, start: "random", optimiser: "gd", seeds: 1 }, begin],
  ["looks", "What they look at", "On the same sentence, the semantic student looks where the teacher looks; the positional one always looks the same way.", { view: "sentence" }],
  ["looks", "The same in a transformer", "Two transformers that count letters found the same two ways. Type ten letters of your own. That is the tour; now drag the ring.", { view: "counting", letters: "STRAWBERRY" }],
];
const at = (id) => document.getElementById(id);
let station = 0, timer = 0, paused = false;

export function start() {
  at("tour-open").addEventListener("click", () => { at("tour").hidden = false; pause(matchMedia("(prefers-reduced-motion: reduce)").matches); go(0); at("tour-next").focus(); });
  at("tour-next").addEventListener("click", () => go(station + 1));
  at("tour-back").addEventListener("click", () => go(station - 1));
  at("tour-pause").addEventListener("click", () => { pause(!paused); again(); });
  at("tour-close").addEventListener("click", end);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape" && !at("tour").hidden) end(); });
}

function go(to) {
  if (to >= STATIONS.length) return end();
  station = Math.max(0, to);
  const [card, title, text, part, act] = STATIONS[station];
  change(part);
  act?.();
  at("tour-title").textContent = title;
  at("tour-text").textContent = text;
  at("tour-count").textContent = `${station + 1} of ${STATIONS.length}`;
  at("tour-back").disabled = station === 0;
  at("tour-next").textContent = station === STATIONS.length - 1 ? "Done" : "Next";
  light(card);
  again();
}

function light(card) {
  for (const lit of document.querySelectorAll(".card")) lit.classList.toggle("lit", lit.id === card);
  at("tour").classList.toggle("above", ["training", "looks"].includes(card)); // it must not cover what it speaks of
  if (card) at(card).scrollIntoView({ block: "start" });
}

function pause(value) {
  paused = value;
  at("tour-pause").setAttribute("aria-pressed", String(paused));
  at("tour-pause").textContent = paused ? "Go on" : "Pause";
}

function again() {
  clearTimeout(timer);
  if (!paused && station < STATIONS.length - 1) timer = setTimeout(() => go(station + 1), SECONDS * 1000);
}

function end() {
  clearTimeout(timer);
  at("tour").hidden = true;
  light("");
  at("tour-open").focus();
}
