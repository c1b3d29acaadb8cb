// The logit lens of one run, or of two and their difference, one under the other with one hover, one pin and one scroll.
const NARROWEST_CELL = 52; // CSS pixels
const NARROWEST_PAIR = 76; // where the difference has two tokens to show
const WIDEST_CELL = 112;
const HELD_KEY_DELAY = 250; // milliseconds
const MOVES = { ArrowUp: [1, 0], ArrowDown: [-1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

class LensGrid {
  listeners = {};
  hovered = null;
  pinned = null;

  constructor(view) {
    this.view = view;
    this.scroller = element("div", "scroller");
    this.sheet = element("div", "sheet");
    this.scroller.append(this.sheet);
    view.root.append(this.scroller);
    this.scroller.tabIndex = 0;
    this.scroller.setAttribute("role", "application");
    this.scroller.setAttribute("aria-roledescription", "table of predictions");
    this.scroller.onscroll = () => this.paintSoon();
    this.scroller.onkeydown = (event) => this.press(event);
  }

  update(props, arrays) {
    this.isNew = props.labels.length !== this.labels?.length; // else what the user scrolled to stays
    Object.assign(this, props);
    this.positions = this.labels.length;
    const two = this.layerLabels.length === 2;
    this.runs = this.layerLabels.map((labels, slot) => new Reading(two ? "AB"[slot] : "", labels, arrays, slot));
    this.difference = two ? new Difference(...this.runs) : null;
    this.layers = Math.max(...this.runs.map(({ layers }) => layers));
    this.allLabels = this.runs.find(({ layers }) => layers === this.layers).layerLabels;
    this.panels = [...this.runs, ...(two ? [this.difference] : [])].map((reading) => this.panel(reading));
    const size = `${this.layers} layers by ${this.positions} positions`;
    this.scroller.ariaLabel = `Logit lens${two ? " of A, B and B − A" : ""}, ${size}. Arrow keys move, Escape unpins.`;
  }

  panel(reading) {
    const panel = new LensPanel(this, reading);
    panel.canvas.onpointermove = (event) => this.hover(panel.cellUnder(event), panel, event.clientX, event.clientY);
    panel.canvas.onpointerleave = () => this.leave();
    panel.canvas.onclick = (event) => {
      const cell = panel.cellUnder(event);
      if (cell) this.pin(this.isAt(this.pinned, cell) ? null : cell);
      this.hover(cell, panel, event.clientX, event.clientY);
    };
    return panel;
  }

  setValue(pinned) {
    const fits = pinned && pinned[0] < this.layers && pinned[1] < this.positions;
    this.pinned = fits ? { layer: pinned[0], position: pinned[1] } : null;
    this.hovered = null;
    this.view.tooltip.hide();
    if (this.theme && this.pinned) this.bringIntoSight();
    this.paintSoon();
  }

  draw(theme, width) {
    this.theme = theme;
    this.width = width;
    const context = this.panels[0].canvas.getContext("2d");
    this.left = widestLabel(context, theme, this.allLabels) + 2 * LABEL_GAP;
    const room = (width - this.left) / this.positions;
    const narrowest = this.difference ? NARROWEST_PAIR : NARROWEST_CELL;
    this.cellWidth = Math.floor(Math.min(WIDEST_CELL, Math.max(narrowest, room)));
    const seen = width - this.left;
    const overhang = this.positions * this.cellWidth > seen ? seen % this.cellWidth : 0; // the last columns are whole too
    this.sheet.style.width = `${this.left + this.positions * this.cellWidth + overhang}px`;
    this.sheet.replaceChildren(
      this.legend(),
      ...this.panels.flatMap(({ reading, canvas }) => [...this.headings(reading), canvas]),
    );
    for (const panel of this.panels) panel.resize();
    if (this.isNew) this.bringIntoSight();
    this.isNew = false;
    this.paint();
  }

  headings(reading) {
    if (!this.difference) return [];
    const heading = element("h3", "title", reading.title);
    return reading === this.difference ? [heading, this.differenceLegend()] : [heading];
  }

  legend() {
    const [low, high] = this.ends;
    const value = (share) => String(Number((low + share * (high - low)).toPrecision(3)));
    const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => [share, value(share)]);
    const legend = this.legendOf(this.measureName, ticks, this.theme.map);
    if (this.runs.some(({ top }) => top.includes(NO_TOKEN))) legend.append(legendSwatch("absent"));
    return legend;
  }

  differenceLegend() {
    const value = (share) => Number(((2 * share - 1) * this.difference.limit).toPrecision(2));
    const text = (number) => `${number > 0 ? "+" : ""}${number}`.replace("-", "−");
    const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => [share, text(value(share))]);
    return this.legendOf(`change of ${this.measureName}`, ticks, this.theme.diverging);
  }

  legendOf(title, ticks, map) {
    const legend = element("div", "legend");
    const unit = this.measureUnit && ` (${this.measureUnit})`;
    drawLegend(legend, this.theme, { title: `${title}${unit}`, ticks, map });
    return legend;
  }

  colourOf(reading, cell) {
    if (reading === this.difference) {
      return colourAt(this.theme.diverging, 0.5 + reading.value(cell) / (2 * reading.limit));
    }
    const [low, high] = this.ends;
    return colourAt(this.theme.map, (reading.value(cell) - low) / (high - low));
  }

  get scrollLeft() {
    return this.scroller.scrollLeft;
  }

  paintSoon() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      if (this.theme) this.paint();
    });
  }

  paint() {
    for (const panel of this.panels) panel.paint();
  }

  isMarked({ layer, position }) {
    const cell = this.hovered ?? this.pinned;
    return cell !== null && (cell.layer === layer || cell.position === position);
  }

  isAt(cell, other) {
    return cell?.layer === other?.layer && cell?.position === other?.position;
  }

  hover(cell, panel, x, y) {
    if (!this.isAt(cell, this.hovered)) this.paintSoon();
    this.hovered = cell;
    if (!cell) return this.view.tooltip.hide();
    const { reading } = panel;
    const title = `${this.allLabels[cell.layer]}, position ${cell.position}`;
    if (reading === this.difference && reading.has(cell)) {
      this.view.tooltip.show(x, y, title, this.describeChange(cell), this.bestOfBoth(cell));
    } else this.view.tooltip.show(x, y, title, this.describe(reading, cell), null);
  }

  leave() {
    this.hover(null);
  }

  // [name, value] rows for a tooltip, and the top tokens with a bar each.
  describe(reading, cell) {
    const fed = ["input token", this.labels[cell.position]];
    if (!reading.has(cell)) return [fed, ["", this.whyAbsent(reading, cell)]];
    const measure = [this.measureName, `${reading.measureText(cell)} ${this.measureUnit}`];
    const tokens = reading.best(cell).map(([token, share]) => [this.vocabulary[token], significant(share), share]);
    return [fed, measure, ...tokens];
  }

  describeChange(cell) {
    const row = (reading) => [reading.title, `${reading.measureText(cell)} ${this.measureUnit}`];
    const of = ["", this.measureName];
    return [["input token", this.labels[cell.position]], of, ...[...this.runs, this.difference].map(row)];
  }

  whyAbsent(reading, cell) {
    const lacking = reading === this.difference ? this.runs.find((run) => !run.has(cell)) : reading;
    return `${lacking.title || "The run"} has no ${cell.layer < lacking.layers ? "such token" : "such layer"}`;
  }

  // The two lists of top tokens beside each other.
  bestOfBoth(cell) {
    const table = element("table", "both");
    const line = (tag, texts) => {
      const row = element("tr");
      row.append(...texts.map((text) => element(tag, "", text)));
      return row;
    };
    const [a, b] = this.runs.map((run) => run.best(cell));
    const texts = ([token, share]) => [this.vocabulary[token], share.toFixed(3)];
    table.append(line("th", ["A", "", "B", ""]), ...a.map((best, rank) => line("td", [...texts(best), ...texts(b[rank])])));
    return table;
  }

  pin(cell, delay = 0) {
    this.pinned = cell;
    this.paintSoon();
    this.view.report(cell && [cell.layer, cell.position], delay);
    this.view.announce(cell ? this.spoken(cell) : "nothing pinned");
  }

  spoken(cell) {
    const texts = this.runs.flatMap((run) => [run.title, ...this.describe(run, cell).slice(1, 3).flat().slice(0, 4)]);
    return [this.allLabels[cell.layer], "input token", this.labels[cell.position], ...texts].filter(Boolean).join(" ");
  }

  press(event) {
    const from = this.pinned;
    if (event.key === "Escape") this.pin(null);
    else if (event.key in MOVES) this.move(...MOVES[event.key]);
    else if (event.key === "Home") this.goTo({ layer: from?.layer ?? this.layers - 1, position: 0 });
    else if (event.key === "End") this.goTo({ layer: from?.layer ?? this.layers - 1, position: this.positions - 1 });
    else return;
    event.preventDefault();
  }

  move(up, right) {
    const clamp = (value, count) => Math.min(count - 1, Math.max(0, value));
    const from = this.pinned ?? { layer: this.layers - 1 - up, position: -right };
    this.goTo({ layer: clamp(from.layer + up, this.layers), position: clamp(from.position + right, this.positions) });
  }

  goTo(cell) {
    this.pin(cell, HELD_KEY_DELAY);
    this.bringIntoSight();
  }

  // The page's own choice where no cell is pinned: the last place that all runs have.
  get defaultPosition() {
    const inAll = (position) => this.runs.every((run) => run.has({ layer: 0, position }));
    return upTo(this.positions).findLast(inAll) ?? this.positions - 1;
  }

  // Scroll no further than the cell looked at asks for.
  bringIntoSight() {
    const start = (this.pinned?.position ?? this.defaultPosition) * this.cellWidth;
    const shown = this.width - this.left - this.cellWidth;
    const wholeColumns = Math.ceil((start - shown) / this.cellWidth) * this.cellWidth; // none is cut at the left
    this.scroller.scrollLeft = Math.min(start, Math.max(this.scroller.scrollLeft, wholeColumns));
  }
}
