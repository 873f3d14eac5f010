// The counting transformer: embed, attend once, normalise, one hidden layer, logits. One function for each line of its description.

const EPSILON = 1e-5; // of the layer norm

// Half-precision numbers, little-endian, as they are stored.
export function readHalves(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Float64Array.from({ length: bytes.byteLength / 2 }, (_, k) => half(view.getUint16(2 * k, true)));
}

function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

// From one list of all numbers: arrays by name, each with its shape.
export function readWeights(numbers, shapes) {
  let at = 0;
  return Object.fromEntries(shapes.map(([name, shape]) => {
    const count = shape.reduce((a, b) => a * b, 1), values = numbers.subarray(at, at + count);
    at += count;
    return [name, { values, rows: shape.length > 1 ? shape[0] : 1, columns: shape.at(-1) }];
  }));
}

// x W of every row.
const times = (rows, { values, rows: inner, columns }) => rows.map((row) => {
  const out = new Float64Array(columns);
  for (let k = 0; k < inner; k++) for (let j = 0; j < columns; j++) out[j] += row[k] * values[k * columns + j];
  return out;
});

// Tokens live in the first half of the coordinates and positions in the second; a mechanism's scores see one of them.
function embedded(weights, tokens) {
  const width = weights.W_E.columns, half = width / 2;
  return tokens.map((token, place) => Float64Array.from({ length: width }, (_, i) => (i < half ? weights.W_E.values[token * width + i] : weights.W_pos.values[place * width + i])));
}

function looks(weights, x, mechanism) {
  const half = weights.W_E.columns / 2;
  const seen = x.map((row) => row.map((value, i) => ((mechanism === "semantic") === (i < half) ? value : 0)));
  const queries = times(seen, weights.W_Q), keys = times(seen, weights.W_K);
  return queries.map((query) => {
    const scores = keys.map((key) => key.reduce((sum, value, i) => sum + value * query[i], 0) / Math.sqrt(query.length));
    const most = Math.max(...scores), powers = scores.map((score) => Math.exp(score - most)), sum = powers.reduce((a, b) => a + b);
    return powers.map((power) => power / sum);
  });
}

function normalised(row, { ln_scale: scale, ln_shift: shift }) {
  const mean = row.reduce((a, b) => a + b) / row.length;
  const variance = row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / row.length;
  return row.map((value, i) => ((value - mean) / Math.sqrt(variance + EPSILON)) * scale.values[i] + shift.values[i]);
}

// The attention matrix and the logits of the counts 0 … 10 at every position.
export function count(weights, tokens, mechanism) {
  const x = embedded(weights, tokens), attention = looks(weights, x, mechanism), values = times(x, weights.W_V);
  const mixed = attention.map((row) => values[0].map((_, i) => row.reduce((sum, share, j) => sum + share * values[j][i], 0)));
  const hidden = times(mixed.map((row) => normalised(row, weights)), weights.W_in).map((row) => row.map((value, i) => Math.max(0, value + weights.b_in.values[i])));
  const logits = times(hidden, weights.W_out).map((row) => Array.from(row, (value, i) => value + weights.b_out.values[i]));
  return { attention, logits };
}
