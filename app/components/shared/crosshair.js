// Lines over a matrix that mark a query's row, a key's column, or the cell where they meet; all lengths in CSS pixels.
function strokeTwice(context, theme, colour, draw) {
  for (const [stroke, width] of [
    [theme.background, 4],
    [colour, 2],
  ]) {
    context.strokeStyle = cssColour(stroke);
    context.lineWidth = width;
    draw();
  }
}

// `box` is the matrix { left, top, width, height, rows, columns }; a mark may lack its query, its key or both.
function drawCrosshair(context, theme, box, { query = null, key = null, colour }) {
  const cellWidth = box.width / box.columns;
  const cellHeight = box.height / box.rows;
  const x = box.left + (key ?? 0) * cellWidth;
  const y = box.top + (query ?? 0) * cellHeight;
  context.strokeStyle = cssColour(colour, 0.5);
  context.lineWidth = 1;
  if (query !== null) context.strokeRect(box.left, y, box.width, cellHeight);
  if (key !== null) context.strokeRect(x, box.top, cellWidth, box.height);
  if (query === null || key === null) return;
  const grow = Math.max(0, (5 - Math.min(cellWidth, cellHeight)) / 2); // a cell of a pixel still gets a visible frame
  const cell = [x - grow, y - grow, cellWidth + 2 * grow, cellHeight + 2 * grow];
  strokeTwice(context, theme, colour, () => context.strokeRect(...cell));
}
