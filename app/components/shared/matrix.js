// Matrices of integer codes painted straight into device pixels, so that every cell has sharp edges on every screen.
const MASKED = 0; // the level of a masked cell

// The largest size in `room` in which all `count` cells are equally wide, unless that would waste a seventh of it.
/** @type {(count: number, room: number) => number} */
function crispSize(count, room) {
  const whole = Math.floor(room / count) * count;
  return whole >= 0.86 * room ? whole : Math.floor(room);
}

// First and one-past-last cell under each of `size` pixels: one where cells are larger than a pixel, else all that
// begin there.
/** @param {number} count @param {number} size */
function cellSpans(count, size) {
  const starts = new Int32Array(size);
  const ends = new Int32Array(size);
  for (let pixel = 0; pixel < size; pixel++) {
    starts[pixel] = Math.floor(((size >= count ? pixel + 0.5 : pixel) * count) / size);
    ends[pixel] = size >= count ? starts[pixel] + 1 : Math.floor(((pixel + 1) * count) / size);
  }
  return { starts, ends };
}

// The masked part, one period by x + y: hairlines across the diagonal along which attention runs.
/** @param {Theme} theme */
function hatching(theme) {
  const line = packedColour(mixColours(theme.background, theme.text, 0.08));
  const between = packedColour(theme.background);
  const length = Math.round(5 * devicePixelRatio);
  return Uint32Array.from({ length }, (_, step) => (step < Math.round(devicePixelRatio) ? line : between));
}

/** @typedef {Uint8Array | Uint16Array} Codes */
/** @typedef {{ codes: Codes, rows: number, columns: number, colours: Uint32Array, hatch: Uint32Array }} Matrix */

// Paints `codes` (rows x columns) into a rectangle in device pixels. A pixel over many cells shows the largest, so thin
// diagonals survive. Cells of one to four pixels that do not fit evenly are painted larger and scaled down, else some
// would be twice as thick as others.
/**
 * @param {CanvasRenderingContext2D} context @param {Matrix} matrix
 * @param {number} left @param {number} top @param {number} width @param {number} height
 */
function paintMatrix(context, matrix, left, top, width, height) {
  const scale = Math.ceil(width / matrix.columns);
  const fits = scale === 1 || width % matrix.columns === 0;
  if (fits) return context.putImageData(matrixImage(matrix, width, height), left, top);
  const even = matrixImage(matrix, scale * matrix.columns, Math.ceil(height / matrix.rows) * matrix.rows);
  const canvas = new OffscreenCanvas(even.width, even.height);
  canvas.getContext("2d")?.putImageData(even, 0, 0);
  context.imageSmoothingQuality = "high";
  context.drawImage(canvas, left, top, width, height);
}

// The same on a canvas that counts in CSS pixels.
/** @param {CanvasRenderingContext2D} context @param {Matrix} matrix @param {Omit<Box, "visible">} box */
function paintMatrixIn(context, matrix, { left, top, width, height }) {
  const [x, y, across, down] = [left, top, width, height].map((length) => Math.round(length * devicePixelRatio));
  context.save();
  context.resetTransform();
  paintMatrix(context, matrix, x, y, across, down);
  context.restore();
}

/** @param {Matrix} matrix @param {number} width @param {number} height */
function matrixImage({ codes, rows, columns, colours, hatch }, width, height) {
  const image = new ImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const { starts, ends } = cellSpans(columns, width);
  const down = cellSpans(rows, height);
  for (let y = 0; y < height; y++) {
    const line = largestOfRows(codes, columns, down.starts[y], down.ends[y]);
    for (let x = 0; x < width; x++) {
      let largest = line[starts[x]];
      for (let column = starts[x] + 1; column < ends[x]; column++) if (line[column] > largest) largest = line[column];
      pixels[y * width + x] = largest === MASKED ? hatch[(x + y) % hatch.length] : colours[largest];
    }
  }
  return image;
}

// The largest code of each column in some rows.
/** @param {Codes} codes @param {number} columns @param {number} start @param {number} end */
function largestOfRows(codes, columns, start, end) {
  const largest = codes.slice(start * columns, (start + 1) * columns);
  for (let row = start + 1; row < end; row++) {
    const offset = row * columns;
    for (let column = 0; column < columns; column++) {
      if (codes[offset + column] > largest[column]) largest[column] = codes[offset + column];
    }
  }
  return largest;
}
