// The tables of both branches: read, and interpolated linearly in α, ω, σ and log λ.

export const BRANCHES = ["semantic", "positional"];

export class Tables {
  constructor(stored) {
    Object.assign(this, { alpha: stored.alpha, omega: stored.omega, values: stored.values, errors: stored.errors, absent: stored.missing });
    this.planes = stored.planes.map((plane) => ({ ...plane, codes: readCodes(plane.codes) }));
  }

  // The planes of a student, and the σ and λ that it has.
  plan(student, minimum) {
    const planes = this.planes.filter((plane) => plane.student === student && plane.minimum === minimum);
    const different = (name) => [...new Set(planes.map((plane) => plane[name]))].sort((a, b) => a - b);
    return { planes, sigmas: different("sigma"), ridges: different("lambda") };
  }

  // Why the tables have nothing at a point, or "".
  missing({ alpha, omega, sigma, lambda, student, minimum }) {
    const { planes, sigmas, ridges } = this.plan(student, minimum);
    if (!planes.length) return "The tables do not have this student.";
    for (const [name, value, values] of [["α", alpha, this.alpha], ["ω", omega, this.omega], ["σ", sigma, sigmas], ["λ", lambda, ridges]]) {
      if (value < values[0] || value > values.at(-1)) {
        return `Here the tables have ${name} = ${values.length > 1 ? `${values[0]} … ${values.at(-1)}` : values[0]}.`;
      }
    }
    return "";
  }

  // The corners around a point, each with a plane, a place in it, and a weight.
  corners(point) {
    const { planes, sigmas, ridges } = this.plan(point.student, point.minimum);
    const sides = [between(sigmas, point.sigma), between(ridges.map(Math.log), Math.log(point.lambda)), between(this.omega, point.omega), between(this.alpha, point.alpha)];
    const found = [];
    for (const [s, ws] of sides[0]) for (const [r, wr] of sides[1]) for (const [i, wi] of sides[2]) for (const [j, wj] of sides[3]) {
      const plane = planes.find((one) => one.sigma === sigmas[s] && one.lambda === ridges[r]);
      found.push({ plane, i, j, weight: ws * wr * wi * wj });
    }
    return found;
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
