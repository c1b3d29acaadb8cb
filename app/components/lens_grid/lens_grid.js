// The logit lens: the final layer on top, the tokens fed below. The canvas is only as wide as what is seen of it at a
// time, however long the prompt is.
const CELL_HEIGHT = 27; // CSS pixels
const NARROWEST_CELL = 52;
const WIDEST_CELL = 112;
const CELL_PADDING = 4;
const HELD_KEY_DELAY = 250; // milliseconds
const MOVES = { ArrowUp: [1, 0], ArrowDown: [-1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

class LensGrid {
  listeners = {};
  hovered = null;
  pinned = null;

  constructor(view) {
    this.view = view;
    this.legend = element("div", "legend");
    this.scroller = element("div", "scroller");
    this.sheet = element("div", "sheet");
    this.canvas = element("canvas");
    this.sheet.append(this.canvas);
    this.scroller.append(this.sheet);
    view.root.append(this.legend, this.scroller);
    this.scroller.tabIndex = 0;
    this.scroller.setAttribute("role", "application");
    this.scroller.setAttribute("aria-roledescription", "table of predictions");
    this.listen();
  }

  listen() {
    this.scroller.onscroll = () => this.paintSoon();
    this.scroller.onkeydown = (event) => this.press(event);
    this.canvas.onpointermove = (event) => this.hover(this.cellUnder(event), event.clientX, event.clientY);
    this.canvas.onpointerleave = () => this.hover(null);
    this.canvas.onclick = (event) => {
      const cell = this.cellUnder(event);
      if (cell) this.pin(this.isAt(this.pinned, cell) ? null : cell);
      this.hover(cell, event.clientX, event.clientY);
    };
  }

  update(props, { top, probabilities, measure }) {
    Object.assign(this, props);
    [this.layers, this.positions, this.depth] = top.shape;
    this.top = top.values;
    this.probabilities = probabilities.values;
    this.measure = measure.values;
    const size = `${this.layers} layers by ${this.positions} positions`;
    this.scroller.ariaLabel = `Logit lens, ${size}. Arrow keys move, Escape unpins.`;
  }

  setValue(pinned) {
    const fits = pinned && pinned[0] < this.layers && pinned[1] < this.positions;
    this.pinned = fits ? { layer: pinned[0], position: pinned[1] } : null;
    this.hovered = null;
    this.paintSoon();
  }

  draw(theme, width) {
    this.theme = theme;
    this.width = width;
    this.fitted = new Map();
    const context = this.canvas.getContext("2d");
    this.left = widestLabel(context, theme, this.layerLabels) + 2 * LABEL_GAP;
    const room = (width - this.left) / this.positions;
    this.cellWidth = Math.floor(Math.min(WIDEST_CELL, Math.max(NARROWEST_CELL, room)));
    this.height = (this.layers + 1) * CELL_HEIGHT + LABEL_GAP;
    this.sheet.style.width = `${this.left + this.positions * this.cellWidth}px`;
    this.canvas.width = Math.round(width * devicePixelRatio);
    this.canvas.height = Math.round(this.height * devicePixelRatio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${this.height}px`;
    this.drawLegend();
    this.paint();
  }

  drawLegend() {
    const [low, high] = this.measureRange;
    const value = (share) => String(Number((low + share * (high - low)).toPrecision(3)));
    const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => [share, value(share)]);
    const unit = this.measureUnit && ` (${this.measureUnit})`;
    drawLegend(this.legend, this.theme, { title: `${this.measureName}${unit}`, ticks });
  }

  paintSoon() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      if (this.theme) this.paint();
    });
  }

  paint() {
    const context = this.canvas.getContext("2d");
    const { width, height, theme } = this;
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.fillStyle = cssColour(theme.background);
    context.fillRect(0, 0, width, height);
    context.save();
    context.beginPath();
    context.rect(this.left, 0, width, height);
    context.clip();
    const { scrollLeft } = this.scroller;
    const end = Math.min(this.positions, (scrollLeft + width - this.left) / this.cellWidth);
    for (let position = Math.floor(scrollLeft / this.cellWidth); position < end; position++) {
      this.paintPosition(context, position);
    }
    if (this.pinned) this.paintFrame(context, this.pinned, theme.pin);
    if (this.hovered) this.paintFrame(context, this.hovered, theme.text);
    context.restore();
    this.paintLayerLabels(context);
  }

  // Where a cell begins on the canvas; layer -1 is the row of the tokens fed.
  corner({ layer, position }) {
    const y = (this.layers - 1 - layer) * CELL_HEIGHT + (layer < 0 ? LABEL_GAP : 0);
    return [this.left + position * this.cellWidth - this.scroller.scrollLeft, y];
  }

  paintPosition(context, position) {
    for (let layer = 0; layer < this.layers; layer++) {
      const index = layer * this.positions + position;
      const [low, high] = this.measureRange;
      const colour = colourAt(this.theme.map, (this.measure[index] - low) / (high - low));
      const [x, y] = this.corner({ layer, position });
      context.fillStyle = cssColour(colour);
      context.fillRect(x, y, this.cellWidth - 1, CELL_HEIGHT - 1);
      context.fillStyle = inkOn(colour);
      this.paintText(context, this.vocabulary[this.top[index * this.depth]], x, y, 500);
    }
    context.fillStyle = cssColour(this.isMarked({ position }) ? this.theme.text : this.theme.faded);
    const [x, y] = this.corner({ layer: -1, position });
    this.paintText(context, this.positionLabels[position], x, y, this.isMarked({ position }) ? 700 : 400);
  }

  paintText(context, text, x, y, weight) {
    context.font = labelFont(this.theme, weight);
    context.textAlign = "left";
    context.textBaseline = "middle";
    const name = `${weight} ${text}`;
    if (!this.fitted.has(name)) this.fitted.set(name, fitText(context, text, this.cellWidth - 2 * CELL_PADDING));
    context.fillText(this.fitted.get(name), x + CELL_PADDING, y + CELL_HEIGHT / 2);
  }

  paintFrame(context, cell, colour) {
    const [x, y] = this.corner(cell);
    const box = [x + 0.5, y + 0.5, this.cellWidth - 2, CELL_HEIGHT - 2];
    strokeTwice(context, this.theme, colour, () => context.strokeRect(...box));
  }

  paintLayerLabels(context) {
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (let layer = -1; layer < this.layers; layer++) {
      const marked = this.isMarked({ layer });
      context.font = labelFont(this.theme, marked ? 700 : 400);
      context.fillStyle = cssColour(marked ? this.theme.text : this.theme.faded);
      const y = this.corner({ layer, position: 0 })[1];
      context.fillText(layer < 0 ? "fed" : this.layerLabels[layer], this.left - LABEL_GAP - 2, y + CELL_HEIGHT / 2);
    }
  }

  isMarked({ layer, position }) {
    const cell = this.hovered ?? this.pinned;
    return cell !== null && (cell.layer === layer || cell.position === position);
  }

  isAt(cell, other) {
    return cell?.layer === other?.layer && cell?.position === other?.position;
  }

  cellUnder(event) {
    const frame = this.canvas.getBoundingClientRect();
    const layer = this.layers - 1 - Math.floor((event.clientY - frame.top) / CELL_HEIGHT);
    const x = event.clientX - frame.left - this.left;
    const position = Math.floor((x + this.scroller.scrollLeft) / this.cellWidth);
    return x >= 0 && layer >= 0 && position < this.positions ? { layer, position } : null;
  }

  hover(cell, x, y) {
    if (!this.isAt(cell, this.hovered)) this.paintSoon();
    this.hovered = cell;
    if (!cell) return this.view.tooltip.hide();
    this.view.tooltip.show(x, y, `${this.layerLabels[cell.layer]}, position ${cell.position}`, this.describe(cell));
  }

  describe({ layer, position }) {
    const index = layer * this.positions + position;
    const measure = [this.measureName, `${significant(this.measure[index])} ${this.measureUnit}`];
    const tokens = Array.from({ length: this.depth }, (_, rank) => {
      const at = index * this.depth + rank;
      return [this.vocabulary[this.top[at]], significant(this.probabilities[at]), this.probabilities[at]];
    });
    return [["token fed", this.positionLabels[position]], measure, ...tokens];
  }

  pin(cell, delay = 0) {
    this.pinned = cell;
    this.paintSoon();
    this.view.report(cell && [cell.layer, cell.position], delay);
    const words = (cell) => [this.layerLabels[cell.layer], ...this.describe(cell).slice(0, 3).flat()].join(" ");
    this.view.announce(cell ? words(cell) : "nothing pinned");
  }

  press(event) {
    if (event.key === "Escape") this.pin(null);
    else if (event.key in MOVES) this.move(...MOVES[event.key]);
    else return;
    event.preventDefault();
  }

  move(up, right) {
    const clamp = (value, count) => Math.min(count - 1, Math.max(0, value));
    const from = this.pinned ?? { layer: this.layers - 1 - up, position: -right };
    const cell = { layer: clamp(from.layer + up, this.layers), position: clamp(from.position + right, this.positions) };
    const start = cell.position * this.cellWidth;
    const shown = this.width - this.left - this.cellWidth;
    this.scroller.scrollLeft = Math.min(start, Math.max(this.scroller.scrollLeft, start - shown));
    this.pin(cell, HELD_KEY_DELAY);
  }
}

export default (component) => mountView(component, LensGrid);
