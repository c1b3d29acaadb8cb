// A matrix of numbers: what is pointed at and chosen in it, by hand or by key. A second canvas above the picture holds
// their frames, so that the matrix is drawn once.
/** @typedef {[row: number, column: number]} MapCell */
/** @typedef {[row: string, column: number]} NamedCell as the other maps of the group hear of it, whose rows may be others */
/** @implements {Component} */
class CellMap {
  /** @type {Listeners} */
  listeners = {
    pointed: (cell) => this.frame(this.own(cell)),
    chosen: (cell) => this.setValue(this.own(cell)),
  };
  /** @type {MapCell | null} */
  cursor = null;
  /** @type {MapCell | null} */
  chosen = null;
  /** @type {CellMapProps} */
  props;
  /** @type {MapPicture} */
  picture;
  /** @type {[name: string, values: Values][]} */
  details = []; // more numbers of each cell

  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.legend = element("div", "legend");
    this.stage = widget("stage", "application", "map of numbers");
    this.canvas = element("canvas");
    this.marks = element("canvas", "marks");
    this.stage.append(this.canvas, this.marks);
    view.root.append(this.legend, this.stage);
    this.listen();
  }

  listen() {
    onKeys(this.stage, {
      ...arrowKeys((down, right) => this.move(down, right)),
      Enter: () => this.choose(this.cursor),
      Escape: () => this.leave(),
      m: () => this.openMenu(this.cursor ?? this.chosen),
    });
    offerHeadMenu(this.canvas, (event) => this.headsOf(this.under(event)));
    this.stage.onblur = () => this.leave();
    this.canvas.onpointermove = (event) => this.point(this.under(event), event.clientX, event.clientY);
    this.canvas.onpointerleave = () => this.leave();
    this.canvas.onclick = (event) => {
      this.point(this.under(event), event.clientX, event.clientY); // a finger does not move over it
      this.choose(this.under(event));
      if (!this.props.choosable) openHeadMenu(this.headsOf(this.under(event)), event.clientX, event.clientY);
    };
  }

  /** @param {CellMapProps} props @param {Record<string, Floats> & { unsure?: Bytes }} arrays */
  update(props, arrays) {
    const before = this.picture;
    this.props = props;
    this.picture = new MapPicture(props, arrays.values, arrays.unsure?.values);
    if (before?.becomes(this.picture)) fade(this.canvas);
    this.details = props.details.map((name, slot) => [name, arrays[`details${slot}`].values]);
    this.cursor = null;
    const [down, across] = this.picture.shape;
    const names = [props.rows.name, props.columns.name].filter(Boolean).join(" by ");
    const isOfHeads = this.headsOf([0, 0]).length > 0;
    const help = `Arrow keys move${props.choosable ? ", Enter chooses" : ""}${isOfHeads ? `, ${MENU_HINT}` : ""}.`;
    this.stage.ariaLabel = `${props.title}, ${names}, ${down} rows by ${across} columns. ${help}`;
    this.stage.classList.toggle("choosable", props.choosable);
  }

  /** @param {MapCell | null} chosen */
  setValue(chosen) {
    this.chosen = chosen && this.picture.has(chosen) ? chosen : null;
    this.mark();
  }

  /** @param {Theme} theme @param {number} width */
  draw(theme, width) {
    const { title, bar } = this.props;
    this.legend.replaceChildren(bar ? this.picture.scale.bar(theme, title) : legendEntry(element("span", "title", title)));
    if (this.picture.lacks) this.legend.append(legendSwatch(this.props.lacks, "absent"));
    if (this.picture.hasUnsure) this.legend.append(legendSwatch(this.props.unsureAs, "unsure"));
    this.picture.paint(this.canvas, theme, width);
    this.mark();
  }

  /** @param {MapCell | null} cursor */
  frame(cursor) {
    this.cursor = cursor;
    this.mark();
  }

  mark() {
    if (this.picture.size[0] === 0) return; // not drawn yet
    if (this.cursor || this.chosen) this.picture.mark(this.marks, this.chosen, this.cursor);
    else clearCanvas(this.marks);
  }

  /** @param {NamedCell | null} cell @returns {MapCell | null} */
  own(cell) {
    if (!cell) return null;
    const row = this.props.rows.labels.indexOf(cell[0]);
    return this.picture.has([row, cell[1]]) ? [row, cell[1]] : null;
  }

  /** @param {string} topic @param {MapCell | null} cell */
  tell(topic, cell) {
    this.view.link.send(topic, cell && [this.props.rows.labels[cell[0]], cell[1]]);
  }

  /** @param {MouseEvent} event */
  under(event) {
    const frame = this.canvas.getBoundingClientRect();
    return this.picture.cellAt(event.clientX - frame.left, event.clientY - frame.top);
  }

  /** @param {MapCell | null} cell */
  point(cell, x = 0, y = 0) {
    if (String(cell) !== String(this.cursor)) {
      this.frame(cell);
      this.tell("pointed", cell);
    }
    if (cell) this.view.tooltip.show(x, y, this.props.title, this.describe(cell));
    else this.view.tooltip.hide();
  }

  leave() {
    this.point(null);
  }

  // The heads that a cell's row and column name.
  /** @param {MapCell | null} cell */
  headsOf(cell) {
    const { rows, columns } = this.props;
    return cell ? headsIn(rows.labels[cell[0]], columns.labels[cell[1]]) : [];
  }

  /** @param {MapCell | null} cell */
  openMenu(cell) {
    const [x, y] = cell ? this.picture.corner([cell[0] + 1, cell[1] + 1]) : [0, 0];
    const { left, top } = this.canvas.getBoundingClientRect();
    openHeadMenu(this.headsOf(cell), left + x, top + y);
  }

  /** @param {MapCell | null} cell */
  choose(cell) {
    if (!cell || !this.props.choosable || Number.isNaN(this.picture.value(cell))) return;
    this.setValue(cell);
    this.tell("chosen", cell);
    this.view.report(cell);
    scrollToKey(this.props.leadsTo);
  }

  /** @param {MapCell} cell @returns {TooltipRow[]} */
  describe(cell) {
    const { rows, columns, lacks, scale } = this.props;
    /** @type {(axis: CellAxis, at: number) => TooltipRow} */
    const place = ({ name, labels, numbered }, at) => [numbered ? `${name} ${at}` : name, labels[at]];
    const places = [place(rows, cell[0]), place(columns, cell[1])].filter(([name]) => name);
    const value = this.picture.value(cell);
    if (Number.isNaN(value)) return [...places, ["", lacks]];
    const at = this.picture.at(cell);
    /** @type {TooltipRow[]} */
    const more = this.details.map(([name, values]) => [name, Number.isNaN(values[at]) ? "–" : plainNumber(values[at])]);
    /** @type {TooltipRow[]} */
    const doubt = this.picture.isUnsure(cell) ? [["", this.props.unsureAs]] : [];
    return [...places, ["value", scale === "signed" ? withSign(value) : plainNumber(value)], ...more, ...doubt];
  }

  /** @param {number} down @param {number} right */
  move(down, right) {
    const cell = this.picture.step(this.cursor ?? this.chosen, down, right);
    const [x, y] = this.picture.corner(cell, 1);
    const frame = this.canvas.getBoundingClientRect();
    this.point(cell, frame.left + x, frame.top + y);
    this.view.announce(this.describe(cell));
  }
}
