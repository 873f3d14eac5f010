// Where a region of a table is widest.

// The largest square of true entries: its side, and the row and column of its middle.
export function largestSquare(inside) {
  const sides = inside.map((row) => row.map(() => 0));
  let best = { side: 0, row: 0, column: 0 };
  inside.forEach((row, i) => row.forEach((is, j) => {
    if (!is) return;
    sides[i][j] = 1 + (i && j ? Math.min(sides[i - 1][j], sides[i][j - 1], sides[i - 1][j - 1]) : 0);
    if (sides[i][j] > best.side) best = { side: sides[i][j], row: i - (sides[i][j] - 1) / 2, column: j - (sides[i][j] - 1) / 2 };
  }));
  return best;
}
