// Scenes 1 and 2: a teacher who looks at words in two ways, and two students who each learned one of them.

import { attention, teacherAttention } from "../network/network.js";
import { arrange, Matrix, moves, whenSeen } from "./draw.js";

const A = [0.6, 0.4, 0.4, 0.6]; // the teacher's look at places
// What a word means to the teacher, as one number: words of the same sign look at each other.
const WORDS = [["hungry", 1.2], ["cats", 0.9], ["sleep", -1.0], ["rain", -0.8], ["warm", 0.6], ["stones", -1.3], ["dogs", 1.0], ["bark", 0.7], ["softly", -0.5]];
const SENTENCES = [["hungry", "cats"], ["cats", "sleep"], ["stones", "bark"], ["warm", "rain"], ["dogs", "bark"], ["rain", "softly"]];
const meaning = Object.fromEntries(WORDS);
const at = (id) => document.getElementById(id);
const rows = ([first, second]) => [first, 1 - first, 1 - second, second];

export function start(solution) {
  teacher();
  students(solution);
}

function teacher() {
  const matrices = [new Matrix("by meaning", "semantic"), new Matrix("by position", "positional"), new Matrix("the teacher: both", "both")];
  arrange(at("teacher-picture"), matrices);
  let sentence = 0;
  const show = () => {
    const omega = Number(at("story-omega").value) / 100, words = SENTENCES[sentence], u = words.map((word) => meaning[word]);
    at("story-omega-said").textContent = `${Math.round(100 * omega)} %`;
    matrices[0].show(rows(attention(...u)), words);
    matrices[1].show(A, words);
    matrices[2].show(teacherAttention({ omega, A }, ...u), words);
    const alike = u[0] * u[1] > 0;
    at("teacher-said").textContent = `“${words.join(" ")}”: this teacher takes the two words to be ${alike ? "alike, so each looks at the other too" : "opposites, so each looks at itself"} (its meanings are drawn at random). The table by position is the same for every sentence.`;
  };
  const another = () => { sentence = (sentence + 1) % SENTENCES.length; show(); };
  at("story-omega").addEventListener("input", show);
  at("teacher-next").addEventListener("click", another);
  show();
  if (moves()) whenSeen(at("scene-teacher"), () => setTimeout(another, 1200));
}

// `solution(branch)`: the theory's numbers at α = 2, ω = 0.3. Words have the scale of the theory's, σ = 0.5.
function students(solution) {
  const omega = 0.3, sigma = 0.5;
  const gain = solution("semantic").theta.value / sigma ** 2, m = solution("positional").m.value;
  const matrices = [new Matrix("teacher", "both"), new Matrix("semantic student", "semantic"), new Matrix("positional student", "positional")];
  arrange(at("students-picture"), matrices);
  let sentence = 1, swapped = false;
  const show = () => {
    const words = swapped ? [...SENTENCES[sentence]].reverse() : SENTENCES[sentence], u = words.map((word) => meaning[word]);
    const looks = [teacherAttention({ omega, A }, ...u), rows(attention(...u.map((x) => gain * x))), rows(attention(m, -m))];
    matrices.forEach((matrix, k) => matrix.show(looks[k], words));
    const off = (k) => Math.round(100 * Math.max(...looks[0].map((value, i) => Math.abs(value - looks[k][i]))));
    at("students-said").textContent = `On “${words.join(" ")}” the semantic student is off by at most ${off(1)} points of a hundred, the positional one by ${off(2)}.`;
  };
  at("students-next").addEventListener("click", () => { sentence = (sentence + 1) % SENTENCES.length; swapped = false; show(); });
  at("students-swap").addEventListener("click", () => { swapped = !swapped; show(); });
  show();
  if (moves()) whenSeen(at("scene-students"), () => setTimeout(() => { sentence = 2; show(); }, 1200));
}
