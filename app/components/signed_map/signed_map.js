// A matrix of numbers on both sides of a centre. Its cells are as wide as there is room for, with their numbers in them if those fit; rows
// and columns of sums stand apart, and count for the colours only if there is nothing else.
const ROW_HEIGHT = 24; // CSS pixels
const NARROWEST = 13;
const WIDEST = 74;
const SUMS_GAP = 6;
const LONGEST_NAME = 132;
const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

class SignedMap {
  listeners = {};
  cursor = null;
  chosen = null;

  constructor(view) {
    this.view = view;
    this.legend = element("div", "legend");
    this.scroller = element("div", "scroller");
    this.canvas = element("canvas");
    this.scroller.append(this.canvas);
    view.root.append(this.legend, this.scroller);
    this.scroller.tabIndex = 0;
    this.scroller.setAttribute("role", "application");
    this.scroller.setAttribute("aria-roledescription", "map of numbers");
    this.scroller.onkeydown = (event) => this.press(event);
    this.scroller.onblur = () => this.leave();
    this.canvas.onpointermove = (event) => this.point(this.under(event), event.clientX, event.clientY);
    this.canvas.onpointerleave = () => this.leave();
    this.canvas.onclick = (event) => this.choose(this.under(event));
  }

  update(props, { values }) {
    Object.assign(this, props);
    this.values = values.values;
    const size = `${this.rows.length} rows by ${this.columns.length} columns`;
    const help = this.choosable ? "Arrow keys move, Enter chooses." : "Arrow keys move.";
    this.scroller.ariaLabel = `${this.title}, ${this.names.join(" by ")}, ${size}. ${help}`;
    this.canvas.classList.toggle("choosable", this.choosable);
    const limit = roundLimitUp(this.limit ?? this.largest());
    this.scale = new ColourScale({ signed: true, root: "sqrt", limit, centre: this.centre });
  }

  // The largest distance from the centre of any cell that is no sum; of the sums where they are all.
  largest() {
    const farther = (isSum) => (most, value, index) => {
      const row = Math.floor(index / this.columns.length);
      const counts = isSum || !(this.isSum(row, 0) || this.isSum(index % this.columns.length, 1));
      const size = Math.abs(value - this.centre);
      return counts && size > most ? size : most;
    };
    return this.values.reduce(farther(false), 0) || this.values.reduce(farther(true), 0);
  }

  isSum(place, side) {
    return this.sums && place === (side ? this.columns : this.rows).length - 1;
  }

  setValue(chosen) {
    this.chosen = chosen && chosen[0] < this.rows.length && chosen[1] < this.columns.length ? [...chosen] : null;
    if (this.theme) this.paint();
  }

  value([row, column]) {
    return this.values[row * this.columns.length + column];
  }

  draw(theme, width) {
    Object.assign(this, { theme, width });
    const context = this.canvas.getContext("2d");
    this.left = this.widest(context, this.rows) + 2 * LABEL_GAP;
    const gap = this.sums ? SUMS_GAP : 0;
    const room = Math.floor((width - this.left - gap - 2) / this.columns.length);
    this.pitch = Math.max(NARROWEST, Math.min(WIDEST, room));
    const longest = this.widest(context, this.columns);
    this.turned = longest > this.pitch - 4;
    this.top = (this.turned ? longest : LABEL_FONT_SIZE) + 2 * LABEL_GAP;
    this.wide = this.left + this.columns.length * this.pitch + gap + 2;
    this.high = this.top + this.rows.length * ROW_HEIGHT + gap + 2;
    this.legend.replaceChildren(this.scale.bar(theme, this.title));
    if (this.values.some(Number.isNaN)) this.legend.append(legendSwatch(this.lacks, "absent"));
    this.paint();
  }

  widest(context, labels) {
    context.font = labelFont(this.theme, 700);
    return Math.ceil(Math.min(LONGEST_NAME, Math.max(...labels.map((text) => context.measureText(text).width))));
  }

  corner([row, column]) {
    const gap = (place, side) => (this.isSum(place, side) ? SUMS_GAP : 0);
    return [this.left + column * this.pitch + gap(column, 1), this.top + row * ROW_HEIGHT + gap(row, 0)];
  }

  paint() {
    const { canvas, theme, wide, high } = this;
    const context = sizedContext(canvas, wide, high);
    context.fillStyle = cssColour(theme.background);
    context.fillRect(0, 0, wide, high);
    const digits = this.digits();
    this.rows.forEach((label, row) => {
      this.nameRow(context, label, row);
      this.columns.forEach((_, column) => this.paintCell(context, [row, column], digits));
    });
    this.columns.forEach((label, column) => this.nameColumn(context, label, column));
    for (const [cell, colour] of [
      [this.chosen, theme.pin],
      [this.cursor, theme.text],
    ]) {
      if (!cell) continue;
      const [x, y] = this.corner(cell);
      strokeTwice(context, theme, colour, () => context.strokeRect(x + 0.5, y + 0.5, this.pitch - 2, ROW_HEIGHT - 2));
    }
  }

  // Digits after the point that fit the cells; null where none do.
  digits() {
    const fitting = { 0: 26, 1: 34, 2: 40, 3: 48 };
    const { limit } = this.scale;
    const wanted = limit >= 100 ? 0 : limit >= 10 ? 1 : limit >= 0.2 ? 2 : 3;
    return this.pitch >= fitting[wanted] ? wanted : null;
  }

  paintCell(context, cell, digits) {
    const value = this.value(cell);
    const [x, y] = this.corner(cell);
    const colour = Number.isNaN(value) ? this.theme.absent : this.scale.colour(this.theme, value);
    context.fillStyle = cssColour(colour);
    context.fillRect(x, y, this.pitch - 1, ROW_HEIGHT - 1);
    if (digits === null || Number.isNaN(value)) return;
    context.fillStyle = inkOn(colour);
    context.font = labelFont(this.theme, this.isSum(cell[0], 0) || this.isSum(cell[1], 1) ? 700 : 400);
    context.textAlign = "center";
    context.textBaseline = "middle";
    const text = value.toFixed(digits).replace("-", "−");
    context.fillText(Number(value.toFixed(digits)) === 0 ? "0" : text, x + this.pitch / 2, y + ROW_HEIGHT / 2 + 0.5);
  }

  // A name is bold where the cursor is, or the chosen cell, or the sums are.
  name(context, label, place, side, x, y) {
    const marked = (this.cursor ?? this.chosen)?.[side] === place;
    context.font = labelFont(this.theme, marked || this.isSum(place, side) ? 700 : 400);
    context.fillStyle = cssColour(marked || this.isSum(place, side) ? this.theme.text : this.theme.faded);
    context.textBaseline = "middle";
    context.fillText(fitText(context, label, LONGEST_NAME), x, y);
  }

  nameRow(context, label, row) {
    context.textAlign = "right";
    this.name(context, label, row, 0, this.left - LABEL_GAP, this.corner([row, 0])[1] + ROW_HEIGHT / 2);
  }

  nameColumn(context, label, column) {
    const [x] = this.corner([0, column]);
    context.save();
    context.translate(x + this.pitch / 2, this.top - LABEL_GAP);
    if (this.turned) context.rotate(-Math.PI / 2);
    context.textAlign = this.turned ? "left" : "center";
    this.name(context, label, column, 1, 0, this.turned ? 0 : -LABEL_FONT_SIZE / 2);
    context.restore();
  }

  under(event) {
    const box = this.canvas.getBoundingClientRect();
    const at = (pixel, first, size, count) => {
      const place = Math.floor((pixel - first) / size);
      return this.sums && place >= count - 1 ? Math.floor((pixel - first - SUMS_GAP) / size) : place;
    };
    const row = at(event.clientY - box.top, this.top, ROW_HEIGHT, this.rows.length);
    const column = at(event.clientX - box.left, this.left, this.pitch, this.columns.length);
    return row >= 0 && column >= 0 && row < this.rows.length && column < this.columns.length ? [row, column] : null;
  }

  point(cell, x, y) {
    if (String(cell) !== String(this.cursor)) {
      this.cursor = cell;
      this.paint();
    }
    if (!cell) return this.view.tooltip.hide();
    const [title, rows] = this.told(cell);
    this.view.tooltip.show(x, y, title, rows);
  }

  leave() {
    this.point(null);
  }

  told([row, column]) {
    const value = this.value([row, column]);
    const told = Number.isNaN(value) ? this.lacks : withSign(value);
    const rows = [
      [this.names[0], this.rows[row]],
      [this.names[1], this.columns[column]],
    ].filter(([name]) => name);
    return [this.title, [...rows, ["value", told]]];
  }

  choose(cell) {
    if (!cell || !this.choosable || Number.isNaN(this.value(cell))) return;
    this.chosen = cell;
    this.paint();
    this.view.report(cell);
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in STEPS) this.move(...STEPS[event.key]);
    else if (event.key === "Enter" && this.cursor) this.choose(this.cursor);
    else if (event.key === "Escape") this.leave();
    else return;
    event.preventDefault();
  }

  move(down, right) {
    const clamp = (place, count) => Math.min(count - 1, Math.max(0, place));
    const [row, column] = this.cursor ?? this.chosen ?? [-down, -right];
    const cell = [clamp(row + down, this.rows.length), clamp(column + right, this.columns.length)];
    const [x, y] = this.corner(cell);
    this.scroller.scrollLeft = Math.min(x - this.left, Math.max(this.scroller.scrollLeft, x + this.pitch - this.width));
    const box = this.canvas.getBoundingClientRect();
    this.point(cell, box.left + x + this.pitch, box.top + y + ROW_HEIGHT);
    const [, rows] = this.told(cell);
    this.view.announce(rows.flat().join(" "));
  }
}

export default (component) => mountView(component, SignedMap);
