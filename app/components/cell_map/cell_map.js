// A matrix of numbers: what is pointed at and chosen in it, by hand or by key. A second canvas above the picture holds
// their frames, so that the matrix is drawn once.
const MAP_STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

class CellMap {
  // Of the other maps of the group, whose rows may be others: a row by its name.
  listeners = {
    pointed: (cell) => this.frame(this.own(cell)),
    chosen: (cell) => this.setValue(this.own(cell)),
  };
  cursor = null;
  chosen = null;

  constructor(view) {
    this.view = view;
    this.legend = element("div", "legend");
    Object.assign(this, pointedStage(this));
    this.stage.setAttribute("aria-roledescription", "map of numbers");
    this.canvas.addEventListener("click", (event) => this.choose(this.under(event)));
    view.root.append(this.legend, this.stage);
  }

  update(props, arrays) {
    Object.assign(this, props);
    this.picture = new MapPicture(props, arrays.values);
    this.more = props.told.map((name, slot) => [name, arrays[`told${slot}`].values]);
    this.cursor = null;
    const { down, across } = this.picture;
    const size = `${down} rows by ${across} columns`;
    const help = `Arrow keys move${this.choosable ? ", Enter chooses" : ""}.`;
    this.stage.ariaLabel = `${this.title}, ${this.names.join(" by ")}, ${size}. ${help}`;
    this.stage.classList.toggle("choosable", this.choosable);
  }

  get names() {
    return [this.rows.name, this.columns.name].filter(Boolean);
  }

  setValue(chosen) {
    this.chosen = chosen && this.picture.has(chosen) ? [...chosen] : null;
    this.mark();
  }

  draw(theme, width) {
    this.legend.replaceChildren(this.picture.scale.bar(theme, this.title));
    if (this.picture.lacks) this.legend.append(legendSwatch(this.lacks, "absent"));
    this.picture.paint(this.canvas, theme, width);
    this.mark();
  }

  frame(cursor) {
    this.cursor = cursor;
    this.mark();
  }

  mark() {
    if (!this.picture.box) return; // not drawn yet
    if (this.cursor || this.chosen) this.picture.mark(this.marks, this.chosen, this.cursor);
    else clearCanvas(this.marks);
  }

  own(cell) {
    const [row, column] = cell ? [this.rows.labels.indexOf(cell[0]), cell[1]] : [-1, -1];
    return this.picture.has([row, column]) ? [row, column] : null;
  }

  tell(topic, cell) {
    this.view.link.send(topic, cell && [this.rows.labels[cell[0]], cell[1]]);
  }

  under(event) {
    const frame = this.canvas.getBoundingClientRect();
    return this.picture.cellAt(event.clientX - frame.left, event.clientY - frame.top);
  }

  point(cell, x, y) {
    if (String(cell) !== String(this.cursor)) {
      this.frame(cell);
      this.tell("pointed", cell);
    }
    if (!cell) return this.view.tooltip.hide();
    this.view.tooltip.show(x, y, this.title, this.describe(cell));
  }

  leave() {
    this.point(null);
  }

  choose(cell) {
    if (!cell || !this.choosable || Number.isNaN(this.picture.value(cell))) return;
    this.setValue(cell);
    this.tell("chosen", cell);
    this.view.report(cell);
  }

  // [name, value] rows for a tooltip.
  describe(cell) {
    const place = ({ name, labels, numbered }, at) => [numbered ? `${name} ${at}` : name, labels[at]];
    const places = [this.rows, this.columns].map((axis, side) => place(axis, cell[side])).filter(([name]) => name);
    const value = this.picture.value(cell);
    if (Number.isNaN(value)) return [...places, ["", this.lacks]];
    const number = this.scale === "signed" ? withSign : plainNumber;
    const at = cell[0] * this.picture.across + cell[1];
    const more = this.more.map(([name, values]) => [name, Number.isNaN(values[at]) ? "–" : plainNumber(values[at])]);
    return [...places, ["value", number(value)], ...more];
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in MAP_STEPS) this.move(...MAP_STEPS[event.key]);
    else if (event.key === "Enter" && this.cursor) this.choose(this.cursor);
    else if (event.key === "Escape") this.leave();
    else return;
    event.preventDefault();
  }

  move(down, right) {
    const clamp = (place, count) => Math.min(count - 1, Math.max(0, place));
    const [row, column] = this.cursor ?? this.chosen ?? [-down, -right];
    const cell = [clamp(row + down, this.picture.down), clamp(column + right, this.picture.across)];
    const [x, y] = this.picture.corner([cell[0] + 1, cell[1] + 1]);
    const frame = this.canvas.getBoundingClientRect();
    this.point(cell, frame.left + x, frame.top + y);
    this.view.announce(this.describe(cell).flat().join(" "));
  }
}

export default (component) => mountView(component, CellMap);
