// One picture of the lens: the final layer on top, the input tokens below, and over many layers above too. The canvas is only as wide as what is seen of
// it at a time, however long the prompt is.
const [LEAST_ROW, MAX_ROW] = [16, 27]; // CSS pixels of a layer
const AROUND_LENS = 330; // of a window, what stands above the layers and the tokens under them
const PALE = 0.15; // of the scale: on a paler cell a word that changes again is muted
const EDGE = 2; // CSS pixels
const CELL_PADDING = 4;
const TALL = 16; // layers

class LensPanel {
  // The grid knows what all panels share: labels, widths, marks and theme.
  /** @param {LensGrid} grid @param {Reading | Difference} reading */
  constructor(grid, reading) {
    this.grid = grid;
    this.reading = reading;
    this.canvas = element("canvas");
    /** @type {Map<string, string>} */
    this.fitted = new Map();
  }

  // Of a layer: as many as a window holds are seen at once.
  get row() {
    const rows = this.reading.layers + (this.turns.length > 0 ? 1 : 0);
    return Math.floor(clamp((innerHeight - AROUND_LENS) / rows, LEAST_ROW, MAX_ROW));
  }

  get turns() {
    return this.grid.props.turns;
  }

  // Of the turns' roles, above all.
  get turnHeight() {
    return this.turns.length > 0 ? this.row : 0;
  }

  get height() {
    return this.top + (this.reading.layers + 1) * this.row + LABEL_GAP;
  }

  // Where the first layer begins.
  get top() {
    return this.turnHeight + (this.isTall ? this.row + LABEL_GAP : 0);
  }

  get isTall() {
    return this.reading.layers >= TALL;
  }

  resize() {
    this.fitted.clear();
    sizedContext(this.canvas, this.grid.width, this.height);
  }

  paint() {
    const context = contextOf(this.canvas);
    const { width, theme, left, cellWidth, scrollLeft, positions, pinned, hovered } = this.grid;
    context.fillStyle = cssColour(theme.background);
    context.fillRect(0, 0, width, this.height);
    context.save();
    context.beginPath();
    context.rect(left, 0, width, this.height);
    context.clip();
    const end = Math.min(positions, (scrollLeft + width - left) / cellWidth);
    for (let position = Math.floor(scrollLeft / cellWidth); position < end; position++) {
      for (let layer = 0; layer < this.reading.layers; layer++) this.paintCell(context, { layer, position });
      for (const y of this.fedRows) this.paintFed(context, position, y);
    }
    this.turns.forEach((_, turn) => this.paintTurn(context, turn));
    if (pinned) this.paintFrame(context, pinned, theme.pin);
    if (hovered) this.paintFrame(context, hovered, theme.text);
    context.restore();
    this.paintLayerLabels(context);
  }

  // Where a cell begins on the canvas; layer -1 is the row of the input tokens.
  /** @param {LensCell} cell */
  corner({ layer, position }) {
    const { left, cellWidth, scrollLeft } = this.grid;
    const y = this.top + (this.reading.layers - 1 - layer) * this.row + (layer < 0 ? LABEL_GAP : 0);
    return [left + position * cellWidth - scrollLeft, y];
  }

  // Where the rows of the input tokens begin.
  get fedRows() {
    const [, below] = this.corner({ layer: -1, position: 0 });
    return this.isTall ? [this.turnHeight, below] : [below];
  }

  /** @param {CanvasRenderingContext2D} context @param {LensCell} cell */
  paintCell(context, cell) {
    const { theme, cellWidth, vocabulary } = this.grid;
    const isRead = this.reading.has(cell);
    const colour = isRead ? this.grid.colourOf(this.reading, cell) : theme.absent;
    const [x, y] = this.corner(cell);
    context.fillStyle = cssColour(colour);
    context.fillRect(x, y, cellWidth - 1, this.row - 1);
    if (!isRead) return;
    const isSettled = this.reading.isSettled(cell);
    if (isSettled) {
      context.fillStyle = cssColour(theme.pin);
      context.fillRect(x, y, EDGE, this.row - 1);
    }
    if (!this.reading.isWritten(cell)) return;
    const isMuted = this.reading.isStory && !isSettled && Math.abs(this.grid.shareOf(this.reading, cell)) < PALE;
    context.fillStyle = isMuted ? cssColour(theme.faded) : inkOn(colour);
    this.paintText(context, this.reading.text(cell, vocabulary), x, y, isSettled ? 600 : this.reading.isStory ? 400 : 500);
  }

  /** @param {CanvasRenderingContext2D} context @param {number} position @param {number} y */
  paintFed(context, position, y) {
    const { theme, labels } = this.grid;
    const marked = this.grid.isMarked({ position });
    context.fillStyle = cssColour(marked ? theme.text : theme.faded);
    const [x] = this.corner({ layer: -1, position });
    this.paintText(context, shortLabel(labels[position], position), x, y, marked ? 700 : 400);
  }

  // A line where a turn begins, and its role above as much of it as is seen.
  /** @param {CanvasRenderingContext2D} context @param {number} turn */
  paintTurn(context, turn) {
    const { theme, left, width, positions } = this.grid;
    const [role, start] = this.turns[turn];
    const [x] = this.corner({ layer: -1, position: start });
    const [end] = this.corner({ layer: -1, position: this.turns[turn + 1]?.[1] ?? positions });
    const from = Math.max(x, left);
    context.fillStyle = cssColour(theme.faded);
    if (start > 0) context.fillRect(x - 1, 0, 1, this.height);
    if (end <= left || x >= width) return;
    setLabelLook(context, theme);
    context.textAlign = "left";
    context.textBaseline = "middle";
    context.fillText(fitText(context, role, end - from - 2 * CELL_PADDING), from + CELL_PADDING, this.row / 2);
  }

  /** @param {CanvasRenderingContext2D} context @param {string} text @param {number} x @param {number} y @param {number} weight */
  paintText(context, text, x, y, weight) {
    context.font = labelFont(this.grid.theme, weight);
    context.textAlign = "left";
    context.textBaseline = "middle";
    const name = `${weight} ${text}`;
    const fitted = this.fitted.get(name) ?? fitText(context, text, this.grid.cellWidth - 2 * CELL_PADDING);
    this.fitted.set(name, fitted);
    context.fillText(fitted, x + CELL_PADDING, y + this.row / 2);
  }

  /** @param {CanvasRenderingContext2D} context @param {LensCell} cell @param {Rgb} colour */
  paintFrame(context, cell, colour) {
    if (cell.layer >= this.reading.layers) return;
    const [x, y] = this.corner(cell);
    const width = this.grid.cellWidth - 2;
    strokeTwice(context, this.grid.theme, colour, () => context.strokeRect(x + 0.5, y + 0.5, width, this.row - 2));
  }

  /** @param {CanvasRenderingContext2D} context */
  paintLayerLabels(context) {
    const { theme, left } = this.grid;
    context.textAlign = "right";
    context.textBaseline = "middle";
    /** @type {(label: string, y: number) => void} */
    const write = (label, y) => context.fillText(label, left - LABEL_GAP - 2, y + this.row / 2);
    for (let layer = 0; layer < this.reading.layers; layer++) {
      setLabelLook(context, theme, this.grid.isMarked({ layer }));
      write(this.reading.layerLabels[layer], this.corner({ layer, position: 0 })[1]);
    }
    setLabelLook(context, theme);
    for (const y of this.fedRows) write("input", y);
    if (this.turnHeight > 0) write("turn", 0);
  }

  /** @type {(event: MouseEvent) => LensCell | null} */
  cellUnder(event) {
    const { left, scrollLeft, cellWidth, positions } = this.grid;
    const frame = this.canvas.getBoundingClientRect();
    const layer = this.reading.layers - 1 - Math.floor((event.clientY - frame.top - this.top) / this.row);
    const x = event.clientX - frame.left - left;
    const position = Math.floor((x + scrollLeft) / cellWidth);
    return x >= 0 && layer >= 0 && layer < this.reading.layers && position < positions ? { layer, position } : null;
  }
}
