// The tables of both branches: read, and interpolated linearly in α and ω.

export const BRANCHES = ["semantic", "positional"];

export class Tables {
  constructor(stored) {
    Object.assign(this, { alpha: stored.alpha, omega: stored.omega, values: stored.values, errors: stored.errors, absent: stored.missing });
    this.planes = stored.planes.map((plane) => ({ ...plane, codes: readCodes(plane.codes) }));
  }

  // The plane of a student, theory, σ and λ, if there is one.
  plane({ student, minimum, sigma, lambda }) {
    return this.planes.find((plane) => plane.student === student && plane.minimum === minimum && plane.sigma === sigma && plane.lambda === lambda);
  }

  // Why the tables have nothing at a point, or "".
  missing(point) {
    const own = this.planes.filter((plane) => plane.student === point.student && plane.minimum === point.minimum);
    if (!own.length) return "The tables do not have this student.";
    for (const [name, letter] of [["sigma", "σ"], ["lambda", "λ"]]) {
      const values = [...new Set(own.map((plane) => plane[name]))];
      if (!values.includes(point[name])) return `For this student the tables have ${letter} = ${values.join(", ")}.`;
    }
    for (const [name, letter] of [["alpha", "α"], ["omega", "ω"]]) {
      if (point[name] < this[name][0] || point[name] > this[name].at(-1)) return `The tables have ${letter} = ${this[name][0]} … ${this[name].at(-1)}.`;
    }
    return "";
  }

  // The corners around a point within its plane, each with a place and a weight.
  corners(point) {
    const plane = this.plane(point);
    return between(this.omega, point.omega).flatMap(([i, wi]) => between(this.alpha, point.alpha).map(([j, wj]) => ({ plane, i, j, weight: wi * wj })));
  }

  // One stored number, or null where the branch does not exist.
  number({ codes, scales }, branch, quantity, i, j) {
    const quantities = this.values.length + this.errors.length;
    const code = codes[((BRANCHES.indexOf(branch) * quantities + quantity) * this.omega.length + i) * this.alpha.length + j];
    return code === this.absent ? null : code * scales[quantity];
  }

  // The numbers of a branch, {name: {value, error}}, or null: where a corner lacks the branch, so does what is between.
  branch(point, name) {
    const corners = this.corners(point);
    const mean = (quantity) => corners.reduce((sum, { plane, i, j, weight }) => {
      const value = this.number(plane, name, quantity, i, j);
      return value === null || sum === null ? null : sum + weight * value;
    }, 0);
    if (mean(0) === null) return null;
    return Object.fromEntries(this.values.map((quantity, k) => {
      const at = this.errors.indexOf(quantity);
      return [quantity, { value: mean(k), error: at < 0 ? null : mean(this.values.length + at) }];
    }));
  }

  // The linear baseline's test error: it does not depend on α.
  baseline(point) {
    return this.corners(point).reduce((sum, { plane, i, weight }) => sum + weight * plane.baseline[i], 0);
  }
}

function readCodes(text) {
  const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0)), view = new DataView(bytes.buffer);
  return Uint16Array.from({ length: bytes.length / 2 }, (_, k) => view.getUint16(2 * k, true));
}

// The neighbours of x in ascending values, [index, weight]; one if x is a value itself.
export function between(values, x) {
  const nearest = values.findIndex((value) => Math.abs(value - x) < 1e-9);
  if (nearest >= 0) return [[nearest, 1]];
  const upper = values.findIndex((value) => value > x), share = (x - values[upper - 1]) / (values[upper] - values[upper - 1]);
  return [[upper - 1, 1 - share], [upper, share]];
}
