// Scenes 3 and 4: the losses of both solutions as data grow. The best one jumps; a ball that rolls along stays where it is.

import { frame, moves, path, shape, tween, whenSeen } from "./draw.js";

const BRANCHES = ["semantic", "positional"];
const at = (id) => document.getElementById(id);
const other = (branch) => BRANCHES.find((name) => name !== branch);

// Loss per example of both branches over α, {branch: [[α, loss], …]}; numbers(branch, α, ω) are the theory's, or null.
function losses(numbers, alphas, omega) {
  return Object.fromEntries(BRANCHES.map((branch) => [branch, alphas.flatMap((alpha) => {
    const found = numbers(branch, alpha, omega);
    return found ? [[alpha, found.train_loss.value / alpha]] : [];
  })]));
}

function axes(svg, curves, range, top = 14) {
  const values = BRANCHES.flatMap((branch) => curves[branch].filter(([alpha]) => alpha >= range[0]).map(([, loss]) => 1000 * loss));
  const [low, high] = [Math.floor(5 * Math.min(...values)) / 5, Math.ceil(5 * Math.max(...values)) / 5];
  const steps = [0, 1, 2, 3].map((k) => Number((low + (k * (high - low)) / 3).toFixed(2)));
  const place = frame(svg, { x: range, y: [low, high], ticks: { x: [0.5, 1, 1.5, 2, 2.5, 3], y: steps }, titles: ["examples for each dimension, α", "loss per example × 1000"], top });
  return { ...place, y: (loss) => place.y(1000 * loss) };
}

// Each curve, and its name above its right end.
const drawn = (place, curves, range) => BRANCHES.flatMap((branch) => {
  const points = curves[branch].filter(([alpha]) => alpha >= range[0]), highest = Math.max(...points.slice(-6).map(([, loss]) => loss));
  return [shape("path", { class: `curve ${branch}`, d: path(place, points) }),
    shape("text", { class: "title", x: place.x(range[1]), y: place.y(highest) - 10, "text-anchor": "end" }, branch)];
});

export function start(numbers, alphas) {
  jump(numbers, alphas);
  ball(numbers, alphas);
}

function jump(numbers, alphas) {
  const svg = at("jump-picture"), range = [0.5, 3], slider = at("jump-alpha"), teacher = at("jump-omega");
  let place, curves, dot, bars;
  const winner = (alpha, omega) => {
    const [s, p] = BRANCHES.map((branch) => numbers(branch, alpha, omega));
    return s && p ? (s.train_loss.value < p.train_loss.value ? "semantic" : "positional") : s ? "semantic" : "positional";
  };
  const show = () => {
    const alpha = Number(slider.value), omega = Number(teacher.value), best = winner(alpha, omega), found = numbers(best, alpha, omega);
    at("jump-alpha-said").textContent = alpha.toFixed(2);
    at("jump-best").textContent = best;
    at("jump-best").className = best;
    dot.setAttribute("class", `dot ${best}`);
    dot.setAttribute("cx", place.x(alpha));
    dot.setAttribute("cy", place.y(found.train_loss.value / alpha));
    for (const [branch, name] of [["positional", "m"], ["semantic", "theta"]]) bars[branch].setAttribute("width", 0.8 * place.width * found[name].value);
    at("jump-said").textContent = `The best student now knows ${found.m.value.toFixed(2)} of positions and ${found.theta.value.toFixed(2)} of meaning.`;
  };
  const again = () => {
    curves = losses(numbers, alphas, Number(teacher.value));
    place = axes(svg, curves, range, 64);
    dot = shape("circle", { r: 9 });
    bars = Object.fromEntries(BRANCHES.map((branch, k) => [branch, shape("rect", { class: `bar ${branch}`, x: 0.42 * place.width, y: 8 + 22 * k, height: 14 })]));
    const names = { semantic: "knows of meaning", positional: "knows of position" };
    svg.append(...drawn(place, curves, range), dot, ...BRANCHES.map((branch, k) => shape("text", { class: "tick", x: 0.42 * place.width - 6, y: 20 + 22 * k, "text-anchor": "end" }, names[branch])), ...Object.values(bars));
    show();
  };
  slider.addEventListener("input", show);
  teacher.addEventListener("change", again);
  at("jump-play").addEventListener("click", () => sweep());
  const sweep = () => tween(5000, (share) => { slider.value = 2.4 - 1.8 * Math.sin(Math.PI * share) ** 2; show(); });
  again();
  if (moves()) whenSeen(at("scene-jump"), sweep);
}

function ball(numbers, alphas) {
  const svg = at("ball-picture"), range = [0.3, 3], omega = 0.3, slider = at("ball-alpha");
  const curves = losses(numbers, alphas, omega), place = axes(svg, curves, range);
  const dot = shape("circle", { r: 11 });
  let branch = "semantic", stop = () => {};
  svg.append(...drawn(place, curves, range), dot);
  const height = (name, alpha) => numbers(name, alpha, omega).train_loss.value / alpha;
  const show = () => {
    const alpha = Number(slider.value), exists = (name) => numbers(name, alpha, omega) !== null;
    const before = branch;
    stop();
    if (!exists(branch)) branch = other(branch);
    const best = !exists(other(branch)) || height(branch, alpha) <= height(other(branch), alpha);
    dot.setAttribute("class", `ball ${branch}`);
    dot.setAttribute("cx", place.x(alpha));
    const to = place.y(height(branch, alpha)), from = before === branch ? to : Number(dot.getAttribute("cy"));
    stop = tween(before === branch ? 1 : 450, (share) => dot.setAttribute("cy", from + share * share * (to - from)));
    at("ball-alpha-said").textContent = alpha.toFixed(2);
    const fell = before === branch ? "" : `The ${before} solution has ended here, and the ball fell. `;
    at("ball-said").textContent = `${fell}The ball is ${branch}${best ? ", the best there is." : ", though the other one would be better. It does not know."}`;
  };
  slider.addEventListener("input", show);
  for (const name of BRANCHES) at(`ball-${name}`).addEventListener("click", () => { branch = name; slider.value = 2; show(); });
  show();
  if (moves()) whenSeen(at("scene-ball"), () => tween(6000, (share) => { slider.value = 2 - 1.5 * Math.sin(Math.PI * share); show(); }));
}
