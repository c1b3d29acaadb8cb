// How the matrix looks: cells as wide as there is room for, under one another where there are more columns than pixels,
// with their numbers in them if all fit. Sums stand behind a line.
/** @typedef {{ name: string, labels: string[], numbered: boolean }} CellAxis */
/**
 * @typedef {{ rows: CellAxis, columns: CellAxis, title: string, scale: string, ends: [low: number, high: number],
 *   centre: number, lacks: string, bar: boolean, details: string[], sums: boolean, unsureAs: string,
 *   choosable: boolean, leadsTo: string }} CellMapProps of cell_map/__init__.py
 */
const ROW = 20; // CSS pixels
const WIDEST_COLUMN = 74;
const GAPS_FROM = 6; // narrower cells touch each other
const NUMBERS_FROM = 24;
const [LEVEL_FROM, LABEL_MARGIN] = [64, 6]; // in wide columns a long token is cut rather than upright
const AXIS_NAME_ROOM = 18;
const LEVEL_LABELS_ROOM = 20;
const TALL = 16; // rows from which on the columns are named above too
const LONGEST_NAME = 120;
const [MANY_LAYERS, DEEP_MAP, LEAST_PITCH] = [12, 1.5, 18]; // so many to a head, and with so much room, stand across
const LEAST_WRITTEN = 0.05; // of the scale: a smaller number is told where it is pointed at
const LACK_INK = 0.04; // of a cell without a number
const UNSURE_MARGIN = 0.3; // of a cell, on each side of the part that is coloured
const NO_HATCH = new Uint32Array(); // no cell is masked

class MapPicture {
  /** @type {Theme} */
  theme;
  /** @type {Box} */
  box = { left: 0, top: 0, width: 0, height: 0, visible: { query: [0, 0], key: [0, 0] } }; // of the matrix
  /** @type {[width: number, height: number]} */
  size = [0, 0]; // before the first drawing
  pitch = 0; // of the columns
  isLevel = true; // whether the columns' names are
  levelLabels = 0;
  namesAbove = 0; // how much room the columns' names have above the matrix
  isTurned = false; // layers, which are the rows, stand across
  fits = false; // whether numbers have room in the cells
  isShort = false; // they have it without the zero before the point

  /** @param {CellMapProps} props @param {Floats} numbers @param {Uint8Array} [unsure] */
  constructor({ rows, columns, scale, ends, centre, sums }, { values, shape: [down, across] }, unsure) {
    this.unsure = unsure;
    this.rows = rows;
    this.columns = columns;
    this.sums = sums;
    this.values = values;
    this.shape = [down, across];
    this.scale = MAP_SCALES[scale](ends, centre);
    this.lacks = values.some(Number.isNaN);
    this.hasUnsure = unsure?.some(Boolean) ?? false;
  }

  // As the matrix stands on the canvas.
  get down() {
    return this.shape[Number(this.isTurned)];
  }

  get across() {
    return this.shape[Number(!this.isTurned)];
  }

  get downAxis() {
    return this.isTurned ? this.columns : this.rows;
  }

  get acrossAxis() {
    return this.isTurned ? this.rows : this.columns;
  }

  // A cell by its place on the canvas, or the other way round.
  /** @param {MapCell} cell @returns {MapCell} */
  turned([row, column]) {
    return this.isTurned ? [column, row] : [row, column];
  }

  // All cells in the order of the canvas.
  get cells() {
    return upTo(this.down * this.across).map((index) => this.turned([Math.floor(index / this.across), index % this.across]));
  }

  // Whether other numbers of the same cells come in its place, all at once: none of a map that is still being filled.
  /** @param {MapPicture} next */
  becomes(next) {
    const isOther = this.values.some((value, index) => value !== next.values[index]);
    return this.size[0] > 0 && !this.lacks && !next.lacks && String(this.shape) === String(next.shape) && isOther;
  }

  /** @param {MapCell} cell */
  has([row, column]) {
    return row >= 0 && column >= 0 && row < this.shape[0] && column < this.shape[1];
  }

  /** @param {MapCell} cell */
  at([row, column]) {
    return row * this.shape[1] + column;
  }

  /** @param {MapCell} cell */
  value(cell) {
    return this.values[this.at(cell)];
  }

  /** @param {MapCell} cell */
  isUnsure(cell) {
    return Boolean(this.unsure?.[this.at(cell)]);
  }

  /** @param {MapCell} cell */
  isSum([row, column]) {
    return this.sums && (row === this.shape[0] - 1 || column === this.shape[1] - 1);
  }

  // Where a cell begins on the canvas, or where its other side ends.
  /** @param {MapCell} cell */
  corner(cell, past = 0) {
    const [row, column] = this.turned(cell);
    return [this.box.left + (column + past) * this.pitch, this.box.top + (row + past) * ROW];
  }

  /** @param {number} x @param {number} y @returns {MapCell | null} */
  cellAt(x, y) {
    const cell = this.turned([Math.floor((y - this.box.top) / ROW), Math.floor((x - this.box.left) / this.pitch)]);
    return this.has(cell) ? cell : null;
  }

  // The cell that lies so far below and to the right of another, or of the matrix's edge.
  /** @param {MapCell | null} from @param {number} down @param {number} right @returns {MapCell} */
  step(from, down, right) {
    const [row, column] = from ? this.turned(from) : [-down, -right];
    return this.turned([clamp(row + down, 0, this.down - 1), clamp(column + right, 0, this.across - 1)]);
  }

  // A deep model's layers, where there is room for them, as in the grid of heads.
  /** @param {number} width */
  turnsAt(width) {
    const [layers, heads] = this.shape;
    const isDeep = this.rows.name === "layer" && this.columns.name === "head" && layers >= MANY_LAYERS && layers > DEEP_MAP * heads;
    return isDeep && width / layers >= LEAST_PITCH;
  }

  // Where everything lies, the matrix on whole device pixels.
  /** @param {CanvasRenderingContext2D} context @param {number} width */
  lay(context, width) {
    this.isTurned = this.turnsAt(width - LONGEST_LABEL);
    const longestLabel = this.columns.numbered ? LONGEST_LABEL : LONGEST_NAME; // of tokens
    /** @type {(labels: string[]) => number} */
    const widest = (labels) => widestLabel(context, this.theme, labels, longestLabel);
    const names = widest([...this.downAxis.labels, this.acrossAxis.name]) + LABEL_GAP;
    const left = Math.round(names * devicePixelRatio) / devicePixelRatio;
    const room = Math.min(width - left - 2, this.across * WIDEST_COLUMN) * devicePixelRatio;
    const wide = crispSize(this.across, Math.floor(room)) / devicePixelRatio;
    this.pitch = wide / this.across;
    const hasRoom = this.columns.numbered && this.pitch >= LEVEL_FROM;
    this.isLevel = hasRoom || textWidth(context, this.acrossAxis.labels) <= this.pitch - LABEL_MARGIN;
    const below = this.isLevel ? LEVEL_LABELS_ROOM : widest(this.acrossAxis.labels) + 2 * LABEL_GAP;
    this.namesAbove = this.down < TALL ? 0 : below;
    const [top, height] = [AXIS_NAME_ROOM + this.namesAbove, this.down * ROW];
    this.box = { left, top, width: wide, height, visible: { query: [0, this.down], key: [0, this.across] }, longestLabel };
    this.levelLabels = top + height + LEVEL_LABELS_ROOM / 2 + 1;
    this.size = [left + wide + 2, top + height + below];
  }

  /** @param {HTMLCanvasElement} canvas @param {Theme} theme @param {number} width */
  paint(canvas, theme, width) {
    this.theme = theme;
    this.lay(contextOf(canvas), width);
    const context = sizedContext(canvas, ...this.size);
    const values = this.cells.map((cell) => this.value(cell));
    const levels = Uint16Array.from(values, (value) => (Number.isNaN(value) ? LACK_LEVELS.absent : this.scale.level(value)));
    context.fillStyle = cssColour(theme.background);
    context.fillRect(0, 0, ...this.size);
    this.paintCells(context, levels);
    this.paintDoubt(context);
    this.paintNumbers(context);
    this.paintNames(context);
    if (this.sums) this.paintLines(context);
  }

  /** @param {CanvasRenderingContext2D} context @param {Uint16Array} levels */
  paintCells(context, levels) {
    const { left, top, width, height } = this.box;
    const colours = this.scale.palette(this.theme);
    colours[LACK_LEVELS.absent] = packedColour(mixColours(this.theme.background, this.theme.text, LACK_INK));
    const matrix = { codes: levels, rows: this.down, columns: this.across, colours, hatch: NO_HATCH };
    paintMatrixIn(context, matrix, this.box);
    for (let row = 1; row <= this.down; row++) context.fillRect(left, top + row * ROW - 1, width, 1);
    if (this.pitch < GAPS_FROM) return;
    for (let column = 1; column <= this.across; column++) context.fillRect(left + column * this.pitch - 1, top, 1, height);
    this.paintLacks(context);
  }

  // A hairline around what is not there, or not yet, so that it is no slab beside pale numbers.
  /** @param {CanvasRenderingContext2D} context */
  paintLacks(context) {
    context.strokeStyle = cssColour(this.theme.border);
    context.lineWidth = 1;
    for (const cell of this.lacks ? this.cells : []) {
      if (!Number.isNaN(this.value(cell))) continue;
      const [x, y] = this.corner(cell);
      context.strokeRect(x + 0.5, y + 0.5, this.pitch - 2, ROW - 2);
    }
  }

  // A frame of ground over the colour of what is unsure.
  /** @param {CanvasRenderingContext2D} context */
  paintDoubt(context) {
    const [x, y] = [Math.max(1, UNSURE_MARGIN * this.pitch), UNSURE_MARGIN * ROW];
    for (const cell of this.hasUnsure ? this.cells : []) {
      if (!this.isUnsure(cell) || Number.isNaN(this.value(cell))) continue;
      const [left, top] = this.corner(cell);
      for (const side of [0, this.pitch - x]) context.fillRect(left + side, top, x, ROW);
      for (const side of [0, ROW - y]) context.fillRect(left, top + side, this.pitch, y);
    }
  }

  // Its number as it stands in a cell, as many digits as the others have; zero only where it lies far from the middle.
  /** @param {MapCell} cell */
  written(cell) {
    const { limit } = this.scale;
    const digits = limit >= 100 ? 0 : limit >= 10 ? 1 : limit >= 0.2 ? 2 : Math.ceil(-Math.log10(LEAST_WRITTEN * limit));
    const value = this.value(cell);
    if (Number.isNaN(value) || this.isUnsure(cell)) return "";
    if (Number(value.toFixed(digits)) === 0) return this.scale.centre ? "0" : "";
    const text = withMinus(value.toFixed(digits));
    return this.isShort ? text.replace("0.", ".") : text;
  }

  // Whether it means something on this scale; every sum does.
  /** @param {MapCell} cell */
  isLarge(cell) {
    return this.isSum(cell) || this.scale.isLarge(this.value(cell), LEAST_WRITTEN);
  }

  // In the cells, if all fit.
  /** @param {CanvasRenderingContext2D} context */
  paintNumbers(context) {
    context.font = labelFont(this.theme);
    const written = this.cells.filter((cell) => this.isLarge(cell));
    const widest = () => Math.max(0, ...written.map((cell) => context.measureText(this.written(cell)).width));
    this.isShort = false;
    this.isShort = this.scale.limit < 1 && widest() > this.pitch - 6;
    this.fits = this.pitch >= NUMBERS_FROM && widest() <= this.pitch - 6;
    if (this.fits) for (const cell of written) this.paintNumber(context, cell);
  }

  /** @param {CanvasRenderingContext2D} context @param {MapCell} cell */
  paintNumber(context, cell) {
    const [x, y] = this.corner(cell);
    [context.textAlign, context.textBaseline] = ["center", "middle"];
    context.font = labelFont(this.theme, this.isSum(cell) ? 700 : 400);
    context.fillStyle = inkOn(this.scale.colour(this.theme, this.value(cell)) ?? this.theme.background);
    context.fillText(this.written(cell), x + this.pitch / 2, y + ROW / 2);
  }

  /** @param {CanvasRenderingContext2D} context */
  paintNames(context) {
    const { theme, box } = this;
    /** @type {(axis: CellAxis) => Axis} */
    const everywhere = ({ labels }) => ({ labels, presence: labels.map(() => "both") });
    drawAxis(context, theme, box, "query", everywhere(this.downAxis));
    if (this.isLevel) upTo(this.across).forEach((column) => this.paintLevelLabel(context, column));
    else drawAxis(context, theme, box, "key", everywhere(this.acrossAxis));
    if (this.namesAbove && !this.isLevel) drawAxisAbove(context, theme, box, this.acrossAxis.labels);
    setLabelLook(context, theme);
    [context.textAlign, context.textBaseline] = ["left", "middle"];
    context.fillText(this.downAxis.name, 0, AXIS_NAME_ROOM / 2 - 1);
    context.textAlign = "right";
    context.fillText(this.acrossAxis.name, box.left - LABEL_GAP, this.levelLabels);
  }

  /** @param {CanvasRenderingContext2D} context @param {number} column */
  paintLevelLabel(context, column, isMarked = false) {
    [context.textAlign, context.textBaseline] = ["center", "middle"];
    setLabelLook(context, this.theme, isMarked);
    const label = fitText(context, shortLabel(this.acrossAxis.labels[column], column), this.pitch - LABEL_MARGIN);
    const x = this.box.left + (column + 0.5) * this.pitch;
    context.fillText(label, x, this.levelLabels);
    if (this.namesAbove) context.fillText(label, x, this.box.top - LEVEL_LABELS_ROOM / 2);
  }

  // Between the sums and what they are of.
  /** @param {CanvasRenderingContext2D} context */
  paintLines(context) {
    const { left, top, width, height } = this.box;
    const [x, y] = this.corner([this.shape[0] - 1, this.shape[1] - 1]);
    /** @type {(colour: Rgb, size: number) => void} */
    const cross = (colour, size) => {
      context.fillStyle = cssColour(colour);
      context.fillRect(left, y - (1 + size) / 2, width, size);
      context.fillRect(x - (1 + size) / 2, top, size, height);
    };
    cross(this.theme.background, 4);
    cross(this.theme.text, 1);
  }

  // The frames of the cell that is chosen and of the one that is pointed at, and their names in bold.
  /** @param {HTMLCanvasElement} canvas @param {MapCell | null} chosen @param {MapCell | null} cursor */
  mark(canvas, chosen, cursor) {
    const context = sizedContext(canvas, ...this.size);
    if (chosen) this.markCell(context, chosen, this.theme.pin);
    if (cursor) this.markCell(context, cursor, this.theme.text);
  }

  /** @param {CanvasRenderingContext2D} context @param {MapCell} cell @param {Rgb} colour */
  markCell(context, cell, colour) {
    const { theme, box } = this;
    const [row, column] = this.turned(cell);
    if (this.fits && !Number.isNaN(this.value(cell)) && !this.isLarge(cell)) this.paintNumber(context, cell);
    drawAxisMark(context, theme, box, "query", this.downAxis.labels, row, theme.text);
    if (!this.isLevel) drawAxisMark(context, theme, box, "key", this.acrossAxis.labels, column, theme.text);
    else this.paintLevelLabel(context, column, true);
    drawCrosshair(context, theme, box, { queries: [row], keys: [column], colour });
  }
}
