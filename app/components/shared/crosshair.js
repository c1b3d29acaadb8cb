// Lines over a matrix that mark queries' rows, keys' columns, and the cells where they meet; lengths in CSS pixels.
/** @type {(context: CanvasRenderingContext2D, theme: Theme, colour: Rgb, draw: () => void) => void} */
function strokeTwice(context, theme, colour, draw) {
  /** @type {[Rgb, number][]} */
  const strokes = [
    [theme.background, 4],
    [colour, 2],
  ];
  for (const [stroke, width] of strokes) {
    context.strokeStyle = cssColour(stroke);
    context.lineWidth = width;
    draw();
  }
}

// `box` is the matrix { left, top, width, height, visible: the range of places along each side }.
/** @param {CanvasRenderingContext2D} context @param {Theme} theme @param {Box} box @param {Marks & { colour: Rgb }} marks */
function drawCrosshair(context, theme, box, { queries, keys, colour }) {
  const [rows, columns] = [axisSpan(box, "query"), axisSpan(box, "key")];
  context.save();
  context.beginPath();
  context.rect(box.left - 2, box.top - 2, box.width + 4, box.height + 4);
  context.clip();
  context.translate(box.left, box.top);
  context.strokeStyle = cssColour(colour, queries.length && keys.length ? 0.5 : 1); // a row alone is all that is marked
  context.lineWidth = 1;
  for (const query of queries) context.strokeRect(0, rows.at(query), box.width, rows.pitch);
  for (const key of keys) context.strokeRect(columns.at(key), 0, columns.pitch, box.height);
  const grow = Math.max(0, (5 - Math.min(rows.pitch, columns.pitch)) / 2); // a cell of a pixel still gets a frame
  for (const query of queries) {
    for (const key of keys) {
      /** @type {[number, number, number, number]} */
      const cell = [columns.at(key) - grow, rows.at(query) - grow, columns.pitch + 2 * grow, rows.pitch + 2 * grow];
      strokeTwice(context, theme, colour, () => context.strokeRect(...cell));
    }
  }
  context.restore();
}
