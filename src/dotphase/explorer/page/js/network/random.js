// Random numbers from a seed, the same in every browser.

// Uniform in [0, 1): the generator "mulberry32", 32 bits of state.
export function uniform(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = state;
    bits = Math.imul(bits ^ (bits >>> 15), bits | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 4294967296;
  };
}

// Standard normals, by Box and Muller.
export function normal(seed) {
  const next = uniform(seed);
  let spare = null;
  return () => {
    if (spare !== null) { const kept = spare; spare = null; return kept; }
    const radius = Math.sqrt(-2 * Math.log(1 - next())), angle = 2 * Math.PI * next();
    spare = radius * Math.sin(angle);
    return radius * Math.cos(angle);
  };
}

export const normals = (draw, count, scale = 1) => Float64Array.from({ length: count }, () => scale * draw());
