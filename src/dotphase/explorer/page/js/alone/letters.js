// Ten letters of any alphabet, counted by the two transformers in this page. As `answers/letters.py` on the server.

import { count, readHalves, readWeights } from "../network/counting.js";

const LENGTH = 10;
const isLatin = (letter) => letter >= "A" && letter <= "Z" && letter.length === 1;

// Upper-case letters of a text, and its other signs. Accents on Latin letters go.
export function readLetters(text) {
  const letters = [], others = new Set();
  for (const sign of text.normalize("NFC")) {
    if (/\s/u.test(sign)) continue;
    const plain = [...sign.toUpperCase().normalize("NFKD")].filter(isLatin);
    if (/\p{L}/u.test(sign)) letters.push(...(plain.length ? plain : [sign.toUpperCase()]));
    else if (!/\p{M}/u.test(sign)) others.add(sign);
  }
  return { letters, others: [...others] };
}

// A to Z are 0 to 25; other letters take the numbers that are left.
export function tokensOf(letters) {
  const numbers = new Map(letters.filter(isLatin).map((letter) => [letter, letter.charCodeAt(0) - 65]));
  const used = new Set(numbers.values()), free = [...Array(26).keys()].filter((number) => !used.has(number));
  for (const letter of letters) if (!numbers.has(letter)) numbers.set(letter, free.shift());
  return letters.map((letter) => numbers.get(letter));
}

function note(number, others) {
  const notes = others.length ? [`Left out, since only letters are counted: ${others.slice(0, 10).join(" ")}`] : [];
  if (number < LENGTH) notes.push(`${LENGTH - number} more letter${LENGTH - number > 1 ? "s" : ""}, please: the models look at ten.`);
  if (number > LENGTH) notes.push(`The models look at ten letters: the first ${LENGTH} of your ${number} are used.`);
  return notes.join(" ");
}

let models = null;
function read(stored) {
  const numbers = (text) => readHalves(Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0)));
  models ??= Object.fromEntries(Object.entries(stored.models).map(([name, text]) => [name, readWeights(numbers(text), stored.shapes)]));
  return models;
}

export function countLetters(stored, text) {
  const { letters, others } = readLetters(text), kept = letters.slice(0, LENGTH);
  const answer = { letters: kept, note: note(letters.length, others) };
  if (kept.length < LENGTH) return answer;
  const tokens = tokensOf(kept), truth = tokens.map((token) => tokens.filter((other) => other === token).length);
  const counted = Object.entries(read(stored)).map(([name, weights]) => {
    const { attention, logits } = count(weights, tokens, name);
    return [name, { attention, counts: logits.map((row) => row.indexOf(Math.max(...row))) }];
  });
  return { ...answer, truth, models: Object.fromEntries(counted) };
}
