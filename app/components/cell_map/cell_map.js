// A matrix of numbers: cells as wide as there is room for, under one another where there are more columns than pixels.
// A second canvas above holds the frame of the cell that is pointed at, so that the matrix is drawn once.
const ROW = 20; // CSS pixels
const WIDEST_COLUMN = 74;
const GAPS_FROM = 6; // narrower cells touch each other
const AXIS_NAME_ROOM = 18;
const LEVEL_LABELS_ROOM = 20;
const MAP_STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

class CellMap {
  listeners = {};
  cursor = null;

  constructor(view) {
    this.view = view;
    this.legend = element("div", "legend");
    Object.assign(this, pointedStage(this));
    this.stage.setAttribute("aria-roledescription", "map of numbers");
    view.root.append(this.legend, this.stage);
  }

  update(props, arrays) {
    Object.assign(this, props);
    [this.down, this.across] = arrays.values.shape;
    this.values = arrays.values.values;
    this.more = this.told.map((name, slot) => [name, arrays[`told${slot}`].values]);
    this.shades = MAP_SCALES[this.scale](this.ends);
    this.cursor = null;
    const size = `${this.down} rows by ${this.across} columns`;
    this.stage.ariaLabel = `${this.title}, ${this.rows.name} by ${this.columns.name}, ${size}. Arrow keys move.`;
  }

  setValue() {}

  draw(theme, width) {
    this.theme = theme;
    this.lay(width);
    this.legend.replaceChildren(this.shades.bar(theme, this.title));
    if (this.values.some(Number.isNaN)) this.legend.append(legendSwatch(this.lacks, "absent"));
    this.paint();
    this.mark();
  }

  // Where everything lies, the matrix on whole device pixels.
  lay(width) {
    const context = this.canvas.getContext("2d");
    const whole = (pixels) => Math.round(pixels * devicePixelRatio) / devicePixelRatio;
    const left = whole(widestLabel(context, this.theme, [...this.rows.labels, this.columns.name]) + LABEL_GAP);
    const room = Math.min(width - left - 2, this.across * WIDEST_COLUMN) * devicePixelRatio;
    const wide = crispSize(this.across, Math.floor(room)) / devicePixelRatio;
    this.pitch = wide / this.across;
    const longest = Math.max(...this.columns.labels.map((label) => context.measureText(label).width));
    this.isLevel = longest <= this.pitch - 6;
    const turned = () => widestLabel(context, this.theme, this.columns.labels) + 2 * LABEL_GAP;
    const below = this.isLevel ? LEVEL_LABELS_ROOM : turned();
    const shown = { query: [0, this.down], key: [0, this.across] };
    this.box = { left, top: AXIS_NAME_ROOM, width: wide, height: this.down * ROW, shown };
    this.levelLabels = AXIS_NAME_ROOM + this.box.height + LEVEL_LABELS_ROOM / 2 + 1;
    this.size = [left + wide + 2, AXIS_NAME_ROOM + this.box.height + below];
  }

  paint() {
    const context = sizedContext(this.canvas, ...this.size);
    const levels = this.values.map((value) => (Number.isNaN(value) ? LACK_LEVELS.absent : this.shades.level(value)));
    context.fillStyle = cssColour(this.theme.background);
    context.fillRect(0, 0, ...this.size);
    this.paintCells(context, levels);
    this.paintNumbers(context, levels);
    this.paintNames(context);
  }

  paintCells(context, levels) {
    const { left, top, width, height } = this.box;
    const pixels = [left, top, width, height].map((length) => Math.round(length * devicePixelRatio));
    const matrix = { codes: levels, rows: this.down, columns: this.across, colours: this.shades.palette(this.theme) };
    context.save();
    context.resetTransform();
    paintMatrix(context, matrix, ...pixels);
    context.restore();
    for (let row = 1; row <= this.down; row++) context.fillRect(left, top + row * ROW - 1, width, 1);
    if (this.pitch < GAPS_FROM) return;
    for (let column = 1; column <= this.across; column++) context.fillRect(left + column * this.pitch - 1, top, 1, height);
  }

  // In the cells, if all fit.
  paintNumbers(context, levels) {
    if (this.pitch < 24) return;
    const largest = this.values.reduce((most, value) => Math.max(most, Math.abs(value) || 0), 0);
    const digits = largest >= 100 ? 0 : largest >= 10 ? 1 : largest >= 0.2 ? 2 : 3;
    const written = (value) => (Number(value.toFixed(digits)) === 0 ? "0" : withMinus(value.toFixed(digits)));
    const texts = Array.from(this.values, (value) => (Number.isNaN(value) ? "" : written(value)));
    context.font = labelFont(this.theme);
    if (texts.some((text) => context.measureText(text).width > this.pitch - 6)) return;
    [context.textAlign, context.textBaseline] = ["center", "middle"];
    texts.forEach((text, index) => {
      const { x, y } = this.corner([Math.floor(index / this.across), index % this.across]);
      context.fillStyle = inkOn(this.shades.levelColour(this.theme, levels[index]) ?? this.theme.background);
      context.fillText(text, x + this.pitch / 2, y + ROW / 2);
    });
  }

  paintNames(context) {
    const { theme, box } = this;
    const everywhere = (axis) => ({ labels: axis.labels, presence: axis.labels.map(() => "both") });
    drawAxis(context, theme, box, "query", everywhere(this.rows));
    if (this.isLevel) upTo(this.across).forEach((column) => this.paintLevelLabel(context, column));
    else drawAxis(context, theme, box, "key", everywhere(this.columns));
    context.font = labelFont(theme);
    context.fillStyle = cssColour(theme.faded);
    [context.textAlign, context.textBaseline] = ["left", "middle"];
    context.fillText(this.rows.name, 0, AXIS_NAME_ROOM / 2 - 1);
    context.textAlign = "right";
    context.fillText(this.columns.name, box.left - LABEL_GAP, this.levelLabels);
  }

  paintLevelLabel(context, column, weight = 400, colour = this.theme.faded) {
    [context.textAlign, context.textBaseline] = ["center", "middle"];
    context.font = labelFont(this.theme, weight);
    context.fillStyle = cssColour(colour);
    context.fillText(this.columns.labels[column], this.corner([0, column + 0.5]).x, this.levelLabels);
  }

  // The frame of the cell that is pointed at, and its names in bold.
  mark() {
    const { theme, box, cursor } = this;
    if (!cursor) return clearCanvas(this.marks);
    const context = sizedContext(this.marks, ...this.size);
    const [row, column] = cursor;
    drawAxisMark(context, theme, box, "query", this.rows.labels, row, theme.text);
    if (!this.isLevel) drawAxisMark(context, theme, box, "key", this.columns.labels, column, theme.text);
    else this.paintLevelLabel(context, column, 700, theme.text);
    drawCrosshair(context, theme, box, { queries: [row], keys: [column], colour: theme.text });
  }

  corner([row, column]) {
    return { x: this.box.left + column * this.pitch, y: this.box.top + row * ROW };
  }

  under(event) {
    const frame = this.canvas.getBoundingClientRect();
    const row = Math.floor((event.clientY - frame.top - this.box.top) / ROW);
    const column = Math.floor((event.clientX - frame.left - this.box.left) / this.pitch);
    return row >= 0 && column >= 0 && row < this.down && column < this.across ? [row, column] : null;
  }

  point(cell, x, y) {
    if (String(cell) !== String(this.cursor)) {
      this.cursor = cell;
      this.mark();
    }
    if (!cell) return this.view.tooltip.hide();
    this.view.tooltip.show(x, y, this.title, this.describe(cell));
  }

  leave() {
    this.point(null);
  }

  // [name, value] rows for a tooltip.
  describe([row, column]) {
    const place = ({ name, labels, numbered }, at) => [numbered ? `${name} ${at}` : name, labels[at]];
    const at = row * this.across + column;
    const places = [place(this.rows, row), place(this.columns, column)];
    if (Number.isNaN(this.values[at])) return [...places, ["", this.lacks]];
    const number = this.scale === "signed" ? withSign : plainNumber;
    const more = this.more.map(([name, values]) => [name, Number.isNaN(values[at]) ? "–" : plainNumber(values[at])]);
    return [...places, ["value", number(this.values[at])], ...more];
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in MAP_STEPS) this.move(...MAP_STEPS[event.key]);
    else if (event.key === "Escape") this.leave();
    else return;
    event.preventDefault();
  }

  move(down, right) {
    const clamp = (place, count) => Math.min(count - 1, Math.max(0, place));
    const [row, column] = this.cursor ?? [-down, -right];
    const cell = [clamp(row + down, this.down), clamp(column + right, this.across)];
    const { x, y } = this.corner(cell);
    const frame = this.canvas.getBoundingClientRect();
    this.point(cell, frame.left + x + this.pitch, frame.top + y + ROW);
    this.view.announce(this.describe(cell).flat().join(" "));
  }
}

export default (component) => mountView(component, CellMap);
