// The answers of the page that has no server, in the server's own messages: from tables, and computed in this browser.

import { attention, teacherAttention } from "../network/network.js";
import { normal } from "../network/random.js";
import { trainHere } from "../network/train_here.js";
import { countLetters } from "./letters.js";
import { BRANCHES, Tables } from "./tables.js";

const SERVER = "Start dotphase explore to compute it.";
let tables = null;
const stored = () => (tables ??= new Tables(window.DOTPHASE.tables));
const point = (task, minimum) => ({ ...task, minimum });
const ordinary = ({ correlation, positional }) => correlation === 0 && JSON.stringify(positional) === "[[0.6,0.4],[0.4,0.6]]";

// Why a question cannot be answered here, or "".
function refusal(task, minimum) {
  if (!ordinary(task)) return `The tables have the paper’s A and words without correlation. ${SERVER}`;
  const reason = stored().missing(point(task, minimum));
  return reason && `${reason} ${SERVER}`;
}

export async function answer(path, body) {
  if (path === "/api/count") return countLetters(window.DOTPHASE.counters, body.text);
  if (path === "/api/sentence") return sentence(body);
  if (path === "/api/export") return texts(body);
  throw new Error(`${path}: not here`);
}

// Every message of a stream, until it ends or `signal` stops it.
export async function messages(path, body, signal, each) {
  if (path === "/api/train") return training(body, signal, each);
  for (const message of path === "/api/diagram" ? diagram(body) : branches(body)) each(message);
  each({ event: "done" });
}

function* branches({ task, along, minimum }) {
  const values = [...new Set([task[along], ...stored()[along]])].sort((a, b) => a - b);
  yield { event: "grid", values, along };
  for (const chosen of [minimum, minimum === "lowest" ? "reached" : "lowest"]) {
    for (const value of values) {
      const at = { ...task, [along]: value }, reason = refusal(at, chosen);
      for (const branch of BRANCHES) {
        const numbers = reason ? null : stored().branch(point(at, chosen), branch);
        const given = { value, branch, minimum: chosen, stage: "table", numbers };
        yield { event: "point", ...given, outcome: numbers ? "converged" : "absent", reason: numbers ? "" : reason || "in the tables this solution does not exist here" };
      }
      if (!reason && chosen === minimum) yield { event: "baseline", value, test_error: { value: stored().baseline(point(at, chosen)), error: 0 } };
    }
  }
}

function* diagram({ task, minimum }) {
  const { alpha, omega } = stored();
  yield { event: "grid", alpha, omega };
  for (const each of omega) {
    const found = alpha.map((a) => {
      const at = { ...task, alpha: a, omega: each };
      return refusal(at, minimum) ? [null, null] : BRANCHES.map((branch) => stored().branch(point(at, minimum), branch));
    });
    yield { event: "row", omega: each, ...row(alpha, found, (a) => stored().baseline(point({ ...task, alpha: a, omega: each }, minimum))) };
  }
}

// As `answers/rows.py`; errors of the two losses are taken as independent, which they are not: their difference is known better.
function row(alphas, found, baseline) {
  const losses = found.map(([s, p]) => (s && p ? [s.train_loss.value - p.train_loss.value, Math.hypot(s.train_loss.error, p.train_loss.error)] : null));
  const above = found.map(([s], j) => (s ? [s.test_error.value - baseline(alphas[j]), s.test_error.error] : null));
  const winner = found.map(([s, p], j) => (losses[j] ? (losses[j][0] < 0 ? "semantic" : "positional") : s ? "semantic" : p ? "positional" : "unknown"));
  return { margin: losses.map((loss) => loss?.[0] ?? null), winner, broken: found.map(() => false),
    missing: Object.fromEntries(BRANCHES.map((branch, k) => [branch, found.map((pair) => !pair[k])])),
    lines: { "train-loss": crossing(alphas, losses), linear: crossing(alphas, above), "spinodal-semantic": end(alphas, found.map(([s]) => Boolean(s))) } };
}

export function crossing(alphas, differences) {
  const known = alphas.map((alpha, j) => [alpha, ...(differences[j] ?? [null])]).filter((entry) => entry[1] !== null);
  for (let k = known.length - 1; k > 0; k--) {
    const [low, below, errorBelow] = known[k - 1], [high, above, errorAbove] = known[k];
    if (!(below > 0 && above <= 0)) continue;
    const share = below / (below - above), slope = (above - below) / (high - low);
    return [low + share * (high - low), Math.hypot((1 - share) * errorBelow, share * errorAbove) / Math.abs(slope)];
  }
  return null;
}

function end(alphas, exists) {
  for (let k = alphas.length - 1; k > 0; k--) if (exists[k] !== exists[k - 1]) return [(alphas[k] + alphas[k - 1]) / 2, (alphas[k] - alphas[k - 1]) / 2];
  return null;
}

function training({ task, ...asked }, signal, each) {
  return new Promise((done, failed) => {
    const given = { ...task, A: task.positional.flat() };
    const stop = trainHere("train", { task: given, ...asked }, (message) => {
      each(message);
      if (["done", "failed"].includes(message.event)) done();
    });
    signal.addEventListener("abort", () => { stop(); failed(signal.reason); });
  });
}

// A random sentence through teacher and students: the student's fields given the teacher's are normal, as the theory says.
function sentence({ task, seed, minimum, landscape }) {
  const reason = refusal(task, minimum);
  if (reason || landscape || task.student !== "softmax") throw new Error(reason || `This is drawn for the softmax student only. ${SERVER}`);
  const draw = normal(seed + 1), variance = task.sigma ** 2;
  const u = [draw(), draw()].map((x) => task.sigma * x), noise = [draw(), draw()];
  const told = { teacher: { attention: pairs(teacherAttention({ omega: task.omega, A: task.positional.flat() }, ...u)) } };
  for (const branch of BRANCHES) {
    const found = stored().branch(point(task, minimum), branch);
    if (!found) { told[branch] = null; continue; }
    const { q, m, theta } = Object.fromEntries(["q", "m", "theta"].map((name) => [name, found[name].value]));
    const rest = Math.sqrt(Math.max(0, q - theta ** 2 / variance));
    const h = u.map((x, l) => (l ? -m : m) + (theta / variance) * x + rest * noise[l]), [first, second] = attention(...h);
    told[branch] = { attention: [[first, 1 - first], [1 - second, second]] };
  }
  return told;
}

const pairs = ([a, b, c, d]) => [[a, b], [c, d]];

function texts({ task, minimum, d, start, optimiser, seed, seeds }) {
  const { python, command } = window.DOTPHASE.about.exports[task.student];
  const numbers = `alpha=${task.alpha}, omega=${task.omega}, sigma=${task.sigma}, ridge=${task.lambda}`;
  const options = `--alpha ${task.alpha} --omega ${task.omega} --sigma ${task.sigma} --lambda ${task.lambda}${command}`;
  const theory = minimum === "lowest" ? ["", ""] : [`, minimum="${minimum}"`, ` --minimum ${minimum}`];
  return {
    python: ["import dotphase", "", `scenario = dotphase.paper(${numbers})`, ...(python ? [`scenario = scenario.vary(student=dotphase.${python})`] : []),
      'for branch in ("semantic", "positional"):', `    print(dotphase.solve(scenario, branch${theory[0]}))`,
      `print(dotphase.train(scenario, d=${d}, start="${start}", optimiser="${optimiser}", seeds=range(${seed}, ${seed + seeds})).test_error)`, ""].join("\n"),
    command: `dotphase solve ${options}${theory[1]}\ndotphase train ${options} --d ${d} --start ${start} --seeds ${seeds} --first-seed ${seed} --optimiser ${optimiser}\n`,
    study: `Study files are written by the page of dotphase explore.\n`,
    bibtex: window.DOTPHASE.about.bibtex,
  };
}
