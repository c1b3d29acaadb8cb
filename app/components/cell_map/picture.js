// How the matrix looks: cells as wide as there is room for, under one another where there are more columns than pixels,
// with their numbers in them if all fit. Sums stand behind a line.
/** @typedef {{ name: string, labels: string[], numbered: boolean }} CellAxis */
/**
 * @typedef {{ rows: CellAxis, columns: CellAxis, title: string, scale: string, ends: [low: number, high: number],
 *   centre: number, lacks: string, details: string[], sums: boolean, unsureAs: string,
 *   choosable: boolean, leadsTo: string }} CellMapProps of cell_map/__init__.py
 */
const ROW = 20; // CSS pixels
const WIDEST_COLUMN = 74;
const GAPS_FROM = 6; // narrower cells touch each other
const NUMBERS_FROM = 24;
const AXIS_NAME_ROOM = 18;
const LEVEL_LABELS_ROOM = 20;
const TALL = 16; // rows from which on the columns are named above too
const LONGEST_NAME = 120;
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

  /** @param {CellMapProps} props @param {Floats} numbers @param {Uint8Array} [unsure] */
  constructor({ rows, columns, scale, ends, centre, sums }, { values, shape: [down, across] }, unsure) {
    this.unsure = unsure;
    this.rows = rows;
    this.columns = columns;
    this.sums = sums;
    this.values = values;
    this.down = down;
    this.across = across;
    this.scale = MAP_SCALES[scale](ends, centre);
    this.lacks = values.some(Number.isNaN);
    this.hasUnsure = unsure?.some(Boolean) ?? false;
  }

  /** @param {MapCell} cell */
  has([row, column]) {
    return row >= 0 && column >= 0 && row < this.down && column < this.across;
  }

  /** @param {MapCell} cell */
  value([row, column]) {
    return this.values[row * this.across + column];
  }

  /** @param {MapCell} cell */
  isUnsure([row, column]) {
    return Boolean(this.unsure?.[row * this.across + column]);
  }

  /** @param {MapCell} cell */
  isSum([row, column]) {
    return this.sums && (row === this.down - 1 || column === this.across - 1);
  }

  /** @param {MapCell} cell */
  corner([row, column]) {
    return [this.box.left + column * this.pitch, this.box.top + row * ROW];
  }

  /** @param {number} x @param {number} y @returns {MapCell | null} */
  cellAt(x, y) {
    const [row, column] = [Math.floor((y - this.box.top) / ROW), Math.floor((x - this.box.left) / this.pitch)];
    return this.has([row, column]) ? [row, column] : null;
  }

  // Where everything lies, the matrix on whole device pixels.
  /** @param {CanvasRenderingContext2D} context @param {number} width */
  lay(context, width) {
    const longestLabel = this.columns.numbered ? LONGEST_LABEL : LONGEST_NAME; // of tokens
    /** @type {(labels: string[]) => number} */
    const widest = (labels) => widestLabel(context, this.theme, labels, longestLabel);
    const names = widest([...this.rows.labels, this.columns.name]) + LABEL_GAP;
    const left = Math.round(names * devicePixelRatio) / devicePixelRatio;
    const room = Math.min(width - left - 2, this.across * WIDEST_COLUMN) * devicePixelRatio;
    const wide = crispSize(this.across, Math.floor(room)) / devicePixelRatio;
    this.pitch = wide / this.across;
    this.isLevel = textWidth(context, this.columns.labels) <= this.pitch - 6;
    const below = this.isLevel ? LEVEL_LABELS_ROOM : widest(this.columns.labels) + 2 * LABEL_GAP;
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
    const levels = Uint16Array.from(this.values, (value) => (Number.isNaN(value) ? LACK_LEVELS.absent : this.scale.level(value)));
    context.fillStyle = cssColour(theme.background);
    context.fillRect(0, 0, ...this.size);
    this.paintCells(context, levels);
    this.paintDoubt(context);
    this.paintNumbers(context, levels);
    this.paintNames(context);
    if (this.sums) this.paintLines(context);
  }

  /** @param {CanvasRenderingContext2D} context @param {Uint16Array} levels */
  paintCells(context, levels) {
    const { left, top, width, height } = this.box;
    const matrix = { codes: levels, rows: this.down, columns: this.across, colours: this.scale.palette(this.theme), hatch: NO_HATCH };
    paintMatrixIn(context, matrix, this.box);
    for (let row = 1; row <= this.down; row++) context.fillRect(left, top + row * ROW - 1, width, 1);
    if (this.pitch < GAPS_FROM) return;
    for (let column = 1; column <= this.across; column++) context.fillRect(left + column * this.pitch - 1, top, 1, height);
  }

  // A frame of ground over the colour of what is unsure.
  /** @param {CanvasRenderingContext2D} context */
  paintDoubt(context) {
    const [x, y] = [Math.max(1, UNSURE_MARGIN * this.pitch), UNSURE_MARGIN * ROW];
    this.unsure?.forEach((doubt, index) => {
      if (!doubt || Number.isNaN(this.values[index])) return;
      const [left, top] = this.corner([Math.floor(index / this.across), index % this.across]);
      for (const side of [0, this.pitch - x]) context.fillRect(left + side, top, x, ROW);
      for (const side of [0, ROW - y]) context.fillRect(left, top + side, this.pitch, y);
    });
  }

  // In the cells, if all fit.
  /** @param {CanvasRenderingContext2D} context @param {Uint16Array} levels */
  paintNumbers(context, levels) {
    if (this.pitch < NUMBERS_FROM) return;
    const { limit } = this.scale;
    const digits = limit >= 100 ? 0 : limit >= 10 ? 1 : limit >= 0.2 ? 2 : 3;
    /** @type {(value: number) => string} */
    const written = (value) => (Number(value.toFixed(digits)) === 0 ? "0" : withMinus(value.toFixed(digits)));
    const texts = Array.from(this.values, (value, index) => (Number.isNaN(value) || this.unsure?.[index] ? "" : written(value)));
    context.font = labelFont(this.theme);
    if (texts.some((text) => context.measureText(text).width > this.pitch - 6)) return;
    [context.textAlign, context.textBaseline] = ["center", "middle"];
    texts.forEach((text, index) => {
      const [row, column] = [Math.floor(index / this.across), index % this.across];
      const [x, y] = this.corner([row, column]);
      context.font = labelFont(this.theme, this.isSum([row, column]) ? 700 : 400);
      context.fillStyle = inkOn(this.scale.levelColour(this.theme, levels[index]) ?? this.theme.background);
      context.fillText(text, x + this.pitch / 2, y + ROW / 2);
    });
  }

  /** @param {CanvasRenderingContext2D} context */
  paintNames(context) {
    const { theme, box } = this;
    /** @type {(axis: CellAxis) => Axis} */
    const everywhere = ({ labels }) => ({ labels, presence: labels.map(() => "both") });
    drawAxis(context, theme, box, "query", everywhere(this.rows));
    if (this.isLevel) upTo(this.across).forEach((column) => this.paintLevelLabel(context, column));
    else drawAxis(context, theme, box, "key", everywhere(this.columns));
    if (this.namesAbove && !this.isLevel) drawAxisAbove(context, theme, box, this.columns.labels);
    setLabelLook(context, theme);
    [context.textAlign, context.textBaseline] = ["left", "middle"];
    context.fillText(this.rows.name, 0, AXIS_NAME_ROOM / 2 - 1);
    context.textAlign = "right";
    context.fillText(this.columns.name, box.left - LABEL_GAP, this.levelLabels);
  }

  /** @param {CanvasRenderingContext2D} context @param {number} column */
  paintLevelLabel(context, column, isMarked = false) {
    [context.textAlign, context.textBaseline] = ["center", "middle"];
    setLabelLook(context, this.theme, isMarked);
    const [label, x] = [this.columns.labels[column], this.corner([0, column + 0.5])[0]];
    context.fillText(label, x, this.levelLabels);
    if (this.namesAbove) context.fillText(label, x, this.box.top - LEVEL_LABELS_ROOM / 2);
  }

  // Between the sums and what they are of.
  /** @param {CanvasRenderingContext2D} context */
  paintLines(context) {
    const { left, top, width, height } = this.box;
    const [x, y] = this.corner([this.down - 1, this.across - 1]);
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
  markCell(context, [row, column], colour) {
    const { theme, box } = this;
    drawAxisMark(context, theme, box, "query", this.rows.labels, row, theme.text);
    if (!this.isLevel) drawAxisMark(context, theme, box, "key", this.columns.labels, column, theme.text);
    else this.paintLevelLabel(context, column, true);
    drawCrosshair(context, theme, box, { queries: [row], keys: [column], colour });
  }
}
