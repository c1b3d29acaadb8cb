// One matrix: a title, the picture with its axes on one canvas, and the marks on a second one above it. Off the screen
// it holds no pixels.
class Panel {
  visible = false;
  looks = ""; // what it was painted with, as JSON
  /** @type {ColourScale} */
  colours;
  /** @type {PanelLayout} */
  layout;

  // One of a comparison's heads, `index` of them; the first also names them all.
  /** @param {Heads} owner @param {Comparison} comparison @param {number} slot @param {number} index */
  constructor(owner, comparison, slot, index) {
    const { name, sides, places, isOneHead } = comparison;
    const side = sides[index];
    this.owner = owner;
    this.comparison = comparison;
    this.slot = slot;
    this.index = index;
    this.head = comparison.heads[index];
    this.layerHead = places[index];
    this.title = [isOneHead ? name : "", side].filter(Boolean).join(" ");
    this.box = element("figure", "panel");
    this.nameBox = element("strong");
    this.readout = element("span", "readout");
    this.range = element("span", "range");
    this.caption = element("figcaption");
    if (isOneHead && index === 0) this.caption.append(slotBadge(slot), this.nameBox);
    this.nameHead();
    if (side) this.caption.append(element("span", "side", side));
    this.caption.append(this.range, this.readout);
    this.canvas = element("canvas");
    this.marks = element("canvas", "marks");
    this.plot = element("div", "plot");
    this.plot.append(this.canvas, this.marks);
    this.box.append(this.caption, this.plot);
    this.gestures = new Gestures(this);
  }

  nameHead() {
    this.nameBox.replaceChildren(...withHeadButtons(this.comparison.name));
  }

  /** @param {Comparison} comparison @param {number} slot @param {number} index */
  isOf(comparison, slot, index) {
    return this.comparison === comparison && this.slot === slot && this.index === index;
  }

  // Takes its place on the page; `colours` is what its values are painted with. It is painted when it is seen, unless it
  // has been and looks as before: where a head joins others, these stay as they are.
  /** @param {Theme} theme @param {PanelLayout} layout @param {ColourScale} colours */
  place(theme, layout, colours) {
    const { axes, zoom } = this.owner;
    const { signed, root, limit, centre } = colours;
    const drawnWith = [theme.id, devicePixelRatio, PAGE.hasFonts];
    const looks = JSON.stringify([layout, signed, root, limit, centre, ...drawnWith, axes, zoom.visible]);
    this.visible &&= looks === this.looks;
    this.looks = looks;
    this.layout = layout;
    this.colours = colours;
    this.range.textContent = this.owner.props.ownScale ? colours.rangeText : "";
    const { left } = layout.matrix;
    this.caption.style.margin = `0 ${layout.width - left - layout.caption}px 0 ${left}px`;
    this.plot.style.width = `${layout.width}px`;
    this.plot.style.height = `${layout.height}px`;
  }

  /** @param {boolean} visible */
  show(visible) {
    const appears = visible && !this.visible;
    this.visible = visible;
    if (appears) this.paint();
    if (!visible) this.forget();
  }

  // Gives the pixels and the levels back.
  forget() {
    this.head.seen = null;
    for (const canvas of [this.canvas, this.marks]) clearCanvas(canvas);
  }

  paint() {
    const { theme, zoom } = this.owner;
    const { layout } = this;
    if (!this.visible || !theme) return;
    for (const canvas of [this.canvas, this.marks]) {
      canvas.width = Math.round(layout.width * devicePixelRatio);
      canvas.height = Math.round(layout.height * devicePixelRatio);
      contextOf(canvas).scale(devicePixelRatio, devicePixelRatio);
    }
    const context = contextOf(this.canvas);
    const { left, top, width, height } = layout.matrix;
    const matrix = { ...this.croppedTo(zoom.visible), colours: this.colours.palette(theme), hatch: hatching(theme) };
    paintMatrixIn(context, matrix, layout.matrix);
    context.strokeStyle = cssColour(theme.border);
    context.strokeRect(left - 0.5, top - 0.5, width + 1, height + 1);
    if (!layout.isBare) this.drawAxes(context, theme);
    this.drawMarks();
  }

  // The tokens along both sides, and what the sides are.
  /** @param {CanvasRenderingContext2D} context @param {Theme} theme */
  drawAxes(context, theme) {
    const { axes } = this.owner;
    drawAxis(context, theme, this.matrix, "query", axes.query);
    drawAxis(context, theme, this.matrix, "key", axes.key);
    if (!this.layout.hasNames) return;
    drawAxisName(context, theme, this.matrix, "query", "from (query)", 0);
    drawAxisName(context, theme, this.matrix, "key", "to (key)", this.layout.height);
  }

  // The matrix's place in the plot, and the cells in it.
  /** @returns {Box} */
  get matrix() {
    return { ...this.layout.matrix, visible: this.owner.zoom.visible };
  }

  /** @param {Zoom["visible"]} visible */
  croppedTo({ query: [top, bottom], key: [left, right] }) {
    const { head } = this;
    const levels = this.colours.levels(head);
    const [rows, columns] = [bottom - top, right - left];
    if (rows === head.rows && columns === head.columns) return { codes: levels, rows, columns };
    const codes = new Uint16Array(rows * columns);
    for (let row = 0; row < rows; row++) {
      const start = (top + row) * head.columns;
      codes.set(levels.subarray(start + left, start + right), row * columns);
    }
    return { codes, rows, columns };
  }

  // A pinned cell stays marked while another is hovered, whose number is above.
  drawMarks() {
    const { theme, axes, pinned, hovered, resting } = this.owner;
    const { layout } = this;
    if (!this.visible || !theme) return;
    this.readout.textContent = this.readoutText();
    const context = contextOf(this.marks);
    context.clearRect(0, 0, layout.width, layout.height);
    this.coverRows(context, theme);
    /** @type {(Partial<Marks> & { colour: Rgb })[]} */
    const marks = [
      { queries: resting === null ? [] : [resting], colour: theme.pin },
      { ...pinned, colour: theme.pin },
      { ...hovered, colour: theme.text },
    ];
    for (const { queries = [], keys = [], colour } of marks) {
      drawCrosshair(context, theme, this.matrix, { queries, keys, colour });
      if (layout.isBare) continue;
      for (const query of queries) drawAxisMark(context, theme, this.matrix, "query", axes.query.labels, query, colour);
      for (const key of keys) drawAxisMark(context, theme, this.matrix, "key", axes.key.labels, key, colour);
    }
  }

  // Those that are not drawn so far.
  /** @param {CanvasRenderingContext2D} context @param {Theme} theme */
  coverRows(context, theme) {
    if (this.owner.rows === null) return;
    const { left, top, width, height } = this.matrix;
    const covered = clamp(axisSpan(this.matrix, "query").at(this.owner.rows), 0, height);
    context.fillStyle = cssColour(theme.background);
    context.fillRect(left, top + covered, width, height - covered);
  }

  // Where its matrix stands in the window.
  get rect() {
    const { x, y } = this.plot.getBoundingClientRect();
    const { left, top, width, height } = this.layout.matrix;
    return new DOMRect(x + left, y + top, width, height);
  }

  // Its matrix and where that stands; null while it has no pixels.
  /** @returns {Crop | null} */
  crop() {
    if (!this.visible || !this.canvas.isConnected) return null;
    const { left, top, width, height } = this.layout.matrix;
    const [x, y, across, down] = [left, top, width, height].map((length) => length * devicePixelRatio);
    return cropOf(this.canvas, x, y, across, down);
  }

  readoutText() {
    const { queries, keys } = this.owner.hovered ?? this.owner.pinned ?? { queries: [], keys: [] };
    if (queries.length !== 1 || keys.length !== 1) return "";
    const { query, key } = this.owner.axes;
    const text = this.head.text(queries[0], keys[0]);
    const value = /e−/.test(text) ? `${text.startsWith("−") ? "> −" : "< "}0.001` : text; // the tooltip has it exactly
    return `${shortLabel(query.labels[queries[0]], queries[0])} → ${shortLabel(key.labels[keys[0]], keys[0])} ${value}`;
  }

  // The cell under a point of the screen; where a pixel covers many cells, the one whose colour it shows: the largest.
  /** @type {(at: { clientX: number, clientY: number }) => Cell | null} */
  cellAt({ clientX, clientY }) {
    const { left, top, width, height, visible } = this.matrix;
    const { query, key } = visible;
    const frame = this.plot.getBoundingClientRect();
    const down = cellSpans(query[1] - query[0], Math.round(height * devicePixelRatio));
    const across = cellSpans(key[1] - key[0], Math.round(width * devicePixelRatio));
    const y = Math.floor((clientY - frame.top - top) * devicePixelRatio);
    const x = Math.floor((clientX - frame.left - left) * devicePixelRatio);
    if (!(y in down.starts && x in across.starts)) return null;
    const levels = this.colours.levels(this.head);
    /** @type {Cell & { level: number } | null} */
    let best = null;
    for (let row = query[0] + down.starts[y]; row < query[0] + down.ends[y]; row++) {
      for (let column = key[0] + across.starts[x]; column < key[0] + across.ends[x]; column++) {
        const level = levels[row * this.head.columns + column];
        if (!best || level > best.level) best = { query: row, key: column, level };
      }
    }
    return best && { query: best.query, key: best.key };
  }

  // Where a cell lies on the screen, for the tooltip of a reader who uses the keyboard.
  /** @type {(cell: Cell) => Point} */
  pointOf({ query, key }) {
    const { x, y } = this.plot.getBoundingClientRect();
    const { left, top } = this.matrix;
    const [columns, rows] = [axisSpan(this.matrix, "key"), axisSpan(this.matrix, "query")];
    return [x + left + columns.at(key + 1), y + top + rows.at(query + 1)];
  }

  /** @param {HeadIndex | null} layerHead */
  underline(layerHead) {
    this.box.classList.toggle("linked", layerHead !== null && headName(layerHead) === headName(this.layerHead));
  }

  /** @type {(cell: Cell) => TooltipRow[]} */
  describe({ query, key }) {
    const { axes, pinned } = this.owner;
    return [
      describePlace("query", query, axes.query),
      describePlace("key", key, axes.key),
      ...this.head.describe(query, key),
      ...describeSum(this.head, pinned, { query, key }),
    ];
  }
}

// What several pinned tokens give to, or get from, the other end of a cell.
/** @type {(head: Shown, pinned: Marks | null, cell: Cell) => TooltipRow[]} */
function describeSum(head, pinned, { query, key }) {
  const { queries, keys } = pinned ?? { queries: [], keys: [] };
  if (queries.length < 2 && keys.length < 2) return [];
  const what = combinedName(head);
  /** @type {[string, number]} */
  const [name, value] =
    queries.length > 1
      ? [`${what} of ${queries.length} queries`, combinedValue(head, queries, [key])]
      : [`${what} of ${keys.length} keys`, combinedValue(head, [query], keys)];
  return [[name, Number.isNaN(value) ? "none" : head.format(value)]];
}
