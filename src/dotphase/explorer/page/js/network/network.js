// One network of two tokens and rank one, trained by gradient descent on its own data set: the paper's task at finite d.
//
// F(Q) = Σ ‖T[xQ*/√d] x − S[x̃Q/√d] x̃‖²/(2d) + (λ/2)‖Q‖², x̃ = x + p, p_1 = −p_2 = (1, …, 1)/√d. The loss of a sample depends on Q
// through its two fields only; the rest is scalar products that are formed once.

import { normal, normals } from "./random.js";

const share = (score) => 1 / (1 + Math.exp(-score)); // of a softmax over two

// Rows of softmax(h hᵀ): what the first token gives to itself, and the second to itself.
export const attention = (h1, h2) => [share(h1 * (h1 - h2)), share(h2 * (h2 - h1))];

// The teacher's attention (1 − ω) softmax(u uᵀ) + ω A, row by row.
export function teacherAttention({ omega, A }, u1, u2) {
  const [first, second] = attention(u1, u2);
  return [first, 1 - first, 1 - second, second].map((s, k) => (1 - omega) * s + omega * A[k]);
}

// A data set drawn from a seed: n = αd sentences, the tokens as the student sees them, and the teacher's weights.
export function drawData(task, d, seed) {
  const draw = normal(2 * seed + 1), n = Math.max(1, Math.round(task.alpha * d));
  const teacher = normals(draw, d), seen = normals(draw, 2 * n * d, task.sigma);
  const shift = 1 / Math.sqrt(d);
  for (let k = 0; k < n * d; k++) { seen[k] += shift; seen[n * d + k] -= shift; }
  return { task, d, n, teacher, seen };
}

// First weights, by the names that the library uses too.
export function firstWeights({ d, teacher }, start, seed) {
  if (start === "semantic") return Float64Array.from(teacher);
  if (start === "positional") return new Float64Array(d).fill(1 / Math.sqrt(d));
  return normals(normal(2 * seed + 2), d, 0.1);
}

export class Network {
  constructor(data, weights) {
    this.data = data;
    this.weights = weights;
    this.fields = new Float64Array(2 * data.n);
    this.gradient = new Float64Array(data.d);
    this.products();
    this.evaluate();
  }

  // Of every sample: the constant of its loss, C = T G^{xx̃} and G^{x̃x̃}.
  products() {
    const { task, d, n, teacher, seen } = this.data, root = Math.sqrt(d), shift = 1 / root;
    Object.assign(this, { constant: 0, target: new Float64Array(4 * n), gram: new Float64Array(3 * n) });
    for (let s = 0; s < n; s++) {
      const first = s * d, second = (n + s) * d;
      let u1 = 0, u2 = 0, seen11 = 0, seen12 = 0, seen22 = 0, x11 = 0, x12 = 0, x22 = 0, mixed11 = 0, mixed12 = 0, mixed21 = 0, mixed22 = 0;
      for (let i = 0; i < d; i++) {
        const a = seen[first + i], b = seen[second + i], x = a - shift, y = b + shift;
        u1 += x * teacher[i]; u2 += y * teacher[i];
        seen11 += a * a; seen12 += a * b; seen22 += b * b;
        x11 += x * x; x12 += x * y; x22 += y * y;
        mixed11 += x * a; mixed12 += x * b; mixed21 += y * a; mixed22 += y * b;
      }
      const T = teacherAttention(task, u1 / root, u2 / root);
      this.gram.set([seen11 / d, seen12 / d, seen22 / d], 3 * s);
      for (let row = 0; row < 2; row++) {
        const left = T[2 * row], right = T[2 * row + 1];
        this.constant += (left * left * x11 + 2 * left * right * x12 + right * right * x22) / (2 * d);
        this.target[4 * s + 2 * row] = (left * mixed11 + right * mixed21) / d;
        this.target[4 * s + 2 * row + 1] = (left * mixed12 + right * mixed22) / d;
      }
    }
  }

  // F and its gradient at the present weights: one pass over the data for the fields, one for the gradient.
  evaluate() {
    const { task, d, n, seen } = this.data, { weights, fields, gradient, target, gram } = this, root = Math.sqrt(d);
    for (let row = 0; row < 2 * n; row++) {
      let sum = 0;
      for (let i = 0, at = row * d; i < d; i++, at++) sum += seen[at] * weights[i];
      fields[row] = sum / root;
    }
    let loss = this.constant, size = 0;
    for (let s = 0; s < n; s++) {
      const h1 = fields[s], h2 = fields[n + s], [s1, s2] = attention(h1, h2), c = 4 * s;
      const [g11, g12, g22] = [gram[3 * s], gram[3 * s + 1], gram[3 * s + 2]];
      loss -= target[c] * s1 + target[c + 1] * (1 - s1) + target[c + 2] * (1 - s2) + target[c + 3] * s2;
      loss += (s1 * s1 * g11 + 2 * s1 * (1 - s1) * g12 + (1 - s1) * (1 - s1) * g22) / 2;
      loss += ((1 - s2) * (1 - s2) * g11 + 2 * s2 * (1 - s2) * g12 + s2 * s2 * g22) / 2;
      const slope1 = (s1 * g11 + (1 - s1) * g12 - target[c] - (s1 * g12 + (1 - s1) * g22 - target[c + 1])) * s1 * (1 - s1);
      const slope2 = ((1 - s2) * g12 + s2 * g22 - target[c + 3] - ((1 - s2) * g11 + s2 * g12 - target[c + 2])) * s2 * (1 - s2);
      fields[s] = (slope1 * (2 * h1 - h2) - slope2 * h2) / root; // from here on the slope, in the place of the field
      fields[n + s] = (slope2 * (2 * h2 - h1) - slope1 * h1) / root;
    }
    for (let i = 0; i < d; i++) { gradient[i] = task.lambda * weights[i]; size += weights[i] * weights[i]; }
    for (let row = 0; row < 2 * n; row++) {
      const slope = fields[row];
      for (let i = 0, at = row * d; i < d; i++, at++) gradient[i] += slope * seen[at];
    }
    this.loss = (loss + (task.lambda * size) / 2) / d;
  }

  step(rate) {
    for (let i = 0; i < this.data.d; i++) this.weights[i] -= rate * this.gradient[i];
    this.evaluate();
  }

  // |m|, |θ| and q: what the weights know of positions and of the teacher, and their size.
  get overlaps() {
    const { task, d, teacher } = this.data, variance = task.sigma ** 2;
    let sum = 0, product = 0, size = 0;
    for (let i = 0; i < d; i++) { const w = this.weights[i]; sum += w; product += w * teacher[i]; size += w * w; }
    return { m: Math.abs(sum) / d, theta: (variance * Math.abs(product)) / d, q: (variance * size) / d };
  }

  // ε_g on fresh sentences: its mean and the standard error of it.
  testError(seed, count = 1000) {
    const { task, d, teacher } = this.data, draw = normal(3 * seed + 7), root = Math.sqrt(d), shift = 1 / root;
    let sum = 0, squares = 0;
    for (let s = 0; s < count; s++) {
      const x = normals(draw, d, task.sigma), y = normals(draw, d, task.sigma);
      let u1 = 0, u2 = 0, h1 = 0, h2 = 0, error = 0;
      for (let i = 0; i < d; i++) {
        u1 += x[i] * teacher[i]; u2 += y[i] * teacher[i];
        h1 += (x[i] + shift) * this.weights[i]; h2 += (y[i] - shift) * this.weights[i];
      }
      const T = teacherAttention(task, u1 / root, u2 / root), [s1, s2] = attention(h1 / root, h2 / root);
      for (let i = 0; i < d; i++) {
        const a = x[i] + shift, b = y[i] - shift;
        error += (T[0] * x[i] + T[1] * y[i] - s1 * a - (1 - s1) * b) ** 2 + (T[2] * x[i] + T[3] * y[i] - (1 - s2) * a - s2 * b) ** 2;
      }
      error /= 2 * d;
      sum += error; squares += error * error;
    }
    const value = sum / count;
    return { value, error: Math.sqrt(Math.max(0, squares / count - value * value) / count) };
  }
}

// Which mechanism the weights show: overlaps beyond five standard deviations of those of random weights.
export function mechanism({ m, theta, q }, { sigma }, d) {
  const noise = 5 * Math.sqrt(q / sigma ** 2 / d);
  const positional = m > noise, semantic = theta > sigma ** 2 * noise;
  if (positional && semantic) return "mixed";
  return positional ? "positional" : semantic ? "semantic" : "uninformed";
}
