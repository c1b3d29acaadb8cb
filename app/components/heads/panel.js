// One head: a title with its slot, the matrix with its axes on one canvas, and the marks on a second one above it.
const MATRIX_TOP = 6; // CSS pixels: half of the first label stands above the matrix

class Panel {
  constructor(owner, slot, head, pattern) {
    Object.assign(this, { owner, head, pattern });
    this.box = element("figure", "panel");
    this.readout = element("span", "readout");
    this.caption = element("figcaption");
    this.caption.append(slotBadge(slot), element("strong", "", headName(head)), this.readout);
    this.canvas = element("canvas");
    this.marks = element("canvas", "marks");
    const plot = element("div", "plot");
    plot.append(this.canvas, this.marks);
    this.box.append(this.caption, plot);
    this.marks.onpointermove = (event) => this.hover(event);
    this.marks.onpointerleave = () => this.leave();
    this.marks.onclick = (event) => this.click(event);
  }

  draw(theme, width) {
    const { queryLabels, keyLabels, colours } = this.owner;
    const { codes, rows, columns } = this.pattern;
    const ratio = devicePixelRatio;
    const context = this.canvas.getContext("2d");
    const left = widestLabel(context, theme, queryLabels) + LABEL_GAP + 2;
    const below = widestLabel(context, theme, keyLabels) + LABEL_GAP + 2;
    const room = Math.floor((width - left - 1) * ratio);
    const deviceWidth = crispSize(columns, room);
    const square = Math.min(room, Math.round((deviceWidth * rows) / columns));
    const deviceHeight = rows === columns ? deviceWidth : crispSize(rows, square);
    this.matrix = { left, top: MATRIX_TOP, width: deviceWidth / ratio, height: deviceHeight / ratio, rows, columns };
    this.caption.style.margin = `0 ${width - left - this.matrix.width}px 0 ${left}px`;
    for (const canvas of [this.canvas, this.marks]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.ceil((MATRIX_TOP + this.matrix.height + below) * ratio);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${canvas.height / ratio}px`;
    }
    const matrix = { codes, rows, columns, colours, hatch: hatching(theme) };
    paintMatrix(context, matrix, Math.round(left * ratio), Math.round(MATRIX_TOP * ratio), deviceWidth, deviceHeight);
    context.scale(ratio, ratio);
    context.strokeStyle = cssColour(theme.border);
    context.strokeRect(left - 0.5, MATRIX_TOP - 0.5, this.matrix.width + 1, this.matrix.height + 1);
  }

  // The axes and the marked cells. A pinned cell stays marked while another is hovered, whose number is above.
  drawMarks(theme, pinned, hovered) {
    const context = this.marks.getContext("2d");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.marks.width, this.marks.height);
    context.scale(devicePixelRatio, devicePixelRatio);
    const marks = [
      { ...pinned, colour: theme.pin },
      { ...hovered, colour: theme.text },
    ];
    for (const mark of marks) drawCrosshair(context, theme, this.matrix, mark);
    const along = (axis) => marks.map((mark) => ({ index: mark[axis] ?? null, colour: mark.colour }));
    drawAxis(context, theme, this.matrix, "query", this.owner.queryLabels, along("query"));
    drawAxis(context, theme, this.matrix, "key", this.owner.keyLabels, along("key"));
    const { query, key } = hovered ?? pinned ?? { query: null, key: null };
    this.readout.textContent = query === null || key === null ? "" : this.pattern.weightText(query, key);
  }

  // The cell under the pointer; where a pixel covers many cells, the one whose colour it shows: the largest.
  cellUnder(event) {
    const { left, top, width, height, rows, columns } = this.matrix;
    const frame = this.marks.getBoundingClientRect();
    const down = cellSpans(rows, Math.round(height * devicePixelRatio));
    const across = cellSpans(columns, Math.round(width * devicePixelRatio));
    const y = Math.floor((event.clientY - frame.top - top) * devicePixelRatio);
    const x = Math.floor((event.clientX - frame.left - left) * devicePixelRatio);
    if (!(y in down.starts && x in across.starts)) return null;
    let best = { query: down.starts[y], key: across.starts[x] };
    for (let query = down.starts[y]; query < down.ends[y]; query++) {
      for (let key = across.starts[x]; key < across.ends[x]; key++) {
        if (this.pattern.code(query, key) > this.pattern.code(best.query, best.key)) best = { query, key };
      }
    }
    return best;
  }

  underline(head) {
    this.box.classList.toggle("linked", head !== null && headName(head) === headName(this.head));
  }

  describe({ query, key }) {
    return this.pattern.describe(query, key, this.owner.queryLabels, this.owner.keyLabels);
  }

  hover(event) {
    const cell = this.cellUnder(event);
    if (!cell) return this.leave();
    this.owner.mark(cell);
    this.owner.view.tooltip.show(event.clientX, event.clientY, headName(this.head), this.describe(cell));
    this.owner.view.link.send("hover", cell);
    this.owner.view.link.send("head", this.head);
  }

  leave() {
    this.owner.mark(null);
    this.owner.view.tooltip.hide();
    this.owner.view.link.send("hover", null);
    this.owner.view.link.send("head", null);
  }

  click(event) {
    const cell = this.cellUnder(event);
    if (!cell) return;
    this.owner.click(cell);
    this.hover(event);
  }
}
