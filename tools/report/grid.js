// Matrices in the data of a page.

// A decoded grid of the data: {rows, columns, at(i, j)}; NaN where there is no number.
function decodeGrid(grid) {
  const bytes = atob(grid.cells), values = new Float32Array(grid.rows * grid.columns);
  for (let i = 0; i < values.length; ++i) {
    const bits = bytes.charCodeAt(2 * i) | (bytes.charCodeAt(2 * i + 1) << 8),
          part = bits < 32768 ? bits : bits - 65536;
    values[i] = part === -32768 ? NaN : (part / 32767) * grid.scale;
  }
  return {rows: grid.rows, columns: grid.columns, values, at: (i, j) => values[i * grid.columns + j]};
}

// A limit that all but one in two hundred values keep, so that single large cells don't make all others pale.
function usualLimit(values) {
  const sizes = Array.from(values).filter((v) => !Number.isNaN(v)).map(Math.abs).sort((a, b) => a - b);
  return sizes[Math.floor((sizes.length - 1) * 0.995)] || sizes[sizes.length - 1] || 1;
}
