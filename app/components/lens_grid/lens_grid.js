// The logit lens of one run, or of two and their difference, one under the other with one hover, one pin and one scroll.
const NARROWEST_CELL = 52; // CSS pixels
const NARROWEST_PAIR = 76; // where the difference has two tokens to show
const WIDEST_CELL = 112;

/**
 * @typedef {{ layerLabels: string[][], labels: string[], vocabulary: string[], lensName: string, measureName: string,
 *   measureUnit: string, ends: [low: number, high: number], turns: TurnStarts }} LensProps of lens_grid/__init__.py
 */

/** @implements {Component} */
class LensGrid {
  /** @type {LensCell | null} */
  hovered = null;
  /** @type {LensCell | null} */
  pinned = null;
  /** @type {LensProps} */
  props;
  isNew = true;
  positions = 0;
  layers = 0;
  /** @type {Reading[]} */
  runs = [];
  /** @type {Difference | null} */
  difference = null;
  /** @type {string[]} */
  labels = []; // of the tokens fed
  /** @type {string[]} */
  allLabels = []; // of the layers of the deeper run
  /** @type {string[]} */
  vocabulary = [];
  /** @type {LensPanel[]} */
  panels = [];
  /** @type {Theme} */
  theme;
  width = 0; // from here on CSS pixels
  left = 0;
  cellWidth = 0;

  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.scroller = widget("scroller wide", "application", "table of predictions");
    this.sheet = element("div", "sheet");
    this.scroller.append(this.sheet);
    view.root.append(this.scroller);
    this.paintSoon = atNextFrame(() => this.theme && this.paint());
    this.scroller.onscroll = this.paintSoon;
    onKeys(this.scroller, {
      ...arrowKeys((down, right) => this.move(-down, right)),
      Home: () => this.goTo({ layer: this.pinned?.layer ?? this.layers - 1, position: 0 }),
      End: () => this.goTo({ layer: this.pinned?.layer ?? this.layers - 1, position: this.positions - 1 }),
      Escape: () => this.pin(null),
    });
  }

  /** @param {LensProps} props @param {Arrays} arrays */
  update(props, arrays) {
    this.isNew = props.labels.length !== this.labels.length; // else what the user scrolled to stays
    this.props = props;
    this.labels = props.labels;
    this.vocabulary = props.vocabulary;
    this.positions = this.labels.length;
    const two = props.layerLabels.length === 2;
    this.runs = props.layerLabels.map((labels, slot) => new Reading(two ? "AB"[slot] : "", labels, arrays, slot));
    this.difference = two ? new Difference(this.runs[0], this.runs[1]) : null;
    this.layers = Math.max(...this.runs.map(({ layers }) => layers));
    this.allLabels = this.runs.find(({ layers }) => layers === this.layers)?.layerLabels ?? [];
    this.panels = [...this.runs, ...(this.difference ? [this.difference] : [])].map((reading) => this.panel(reading));
    const size = `${this.layers} layers by ${this.positions} positions`;
    this.scroller.ariaLabel = `${props.lensName}${two ? " of A, B and B − A" : ""}, ${size}. Arrow keys move, Escape unpins.`;
  }

  /** @param {Reading | Difference} reading */
  panel(reading) {
    const panel = new LensPanel(this, reading);
    panel.canvas.onpointermove = (event) => this.hover(panel.cellUnder(event), panel, event.clientX, event.clientY);
    panel.canvas.onpointerleave = () => this.leave();
    panel.canvas.onclick = (/** @type {PointerEvent} */ event) => {
      const cell = panel.cellUnder(event);
      if (cell) this.pin(this.isAt(this.pinned, cell) ? null : cell);
      this.hover(cell, panel, event.clientX, event.clientY);
    };
    return panel;
  }

  /** @param {[layer: number, position: number] | null} pinned */
  setValue(pinned) {
    const fits = pinned && pinned[0] < this.layers && pinned[1] < this.positions;
    this.pinned = fits ? { layer: pinned[0], position: pinned[1] } : null;
    this.hovered = null;
    this.view.tooltip.hide();
    if (this.theme && this.pinned) this.bringIntoSight();
    this.paintSoon();
  }

  /** @param {Theme} theme @param {number} width */
  draw(theme, width) {
    this.theme = theme;
    this.width = width;
    const context = contextOf(this.panels[0].canvas);
    this.left = widestLabel(context, theme, this.allLabels) + 2 * LABEL_GAP;
    const room = (width - this.left) / this.positions;
    const narrowest = this.difference ? NARROWEST_PAIR : NARROWEST_CELL;
    const seen = width - this.left;
    const isScrolled = room < narrowest; // whole columns then share what is seen
    const wanted = isScrolled ? seen / Math.max(1, Math.floor(seen / narrowest)) : Math.min(room, WIDEST_CELL);
    this.cellWidth = Math.floor(wanted);
    const overhang = isScrolled ? seen % this.cellWidth : 0; // the last columns are whole too
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

  // Of a run beside another, and of their difference, which has a colour bar of its own.
  /** @param {Reading | Difference} reading */
  headings(reading) {
    if (!this.difference) return [];
    const heading = element("h3", "title", reading.title);
    if (reading instanceof Reading) return [heading];
    const scale = new ColourScale({ signed: true, root: "linear", limit: reading.limit });
    const legend = element("div", "legend");
    legend.append(scale.bar(this.theme, this.named(`change of ${this.props.measureName}`)));
    return [heading, legend];
  }

  legend() {
    const { ends: [low, high], measureName } = this.props;
    /** @type {Tick[]} */
    const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => [share, inDigits(low + share * (high - low), 3)]);
    const legend = element("div", "legend");
    legend.append(legendBar({ title: this.named(measureName), ticks, map: this.theme.map }));
    if (this.runs.some(({ top }) => top.includes(NO_TOKEN))) legend.append(legendSwatch("absent"));
    return legend;
  }

  // With the unit.
  /** @param {string} title */
  named(title) {
    const { measureUnit } = this.props;
    return measureUnit ? `${title} (${measureUnit})` : title;
  }

  /** @param {Reading | Difference} reading @param {LensCell} cell */
  colourOf(reading, cell) {
    const share = this.shareOf(reading, cell);
    return reading instanceof Difference ? colourAt(this.theme.diverging, 0.5 + share / 2) : colourAt(this.theme.map, share);
  }

  // Of the colours' scale, which a difference has to both sides.
  /** @param {Reading | Difference} reading @param {LensCell} cell */
  shareOf(reading, cell) {
    if (reading instanceof Difference) return reading.value(cell) / reading.limit;
    const [low, high] = this.props.ends;
    return (reading.value(cell) - low) / (high - low);
  }

  get scrollLeft() {
    return this.scroller.scrollLeft;
  }

  paint() {
    for (const panel of this.panels) panel.paint();
  }

  /** @param {Partial<LensCell>} place */
  isMarked({ layer, position }) {
    const cell = this.hovered ?? this.pinned;
    return cell !== null && (cell.layer === layer || cell.position === position);
  }

  /** @param {LensCell | null} cell @param {LensCell | null} other */
  isAt(cell, other) {
    return cell?.layer === other?.layer && cell?.position === other?.position;
  }

  /** @param {LensCell | null} cell @param {LensPanel} panel @param {number} x @param {number} y */
  hover(cell, { reading }, x, y) {
    if (!cell) return this.leave();
    if (!this.isAt(cell, this.hovered)) this.paintSoon();
    this.hovered = cell;
    const title = `${this.allLabels[cell.layer]}, position ${cell.position}`;
    const picture = reading instanceof Difference && reading.has(cell) ? this.bestOfBoth(cell) : null;
    this.view.tooltip.show(x, y, title, this.describe(reading, cell), picture);
  }

  leave() {
    if (this.hovered) this.paintSoon();
    this.hovered = null;
    this.view.tooltip.hide();
  }

  // Of a run its top tokens too, with a bar each.
  /** @type {(reading: Reading | Difference, cell: LensCell) => TooltipRow[]} */
  describe(reading, cell) {
    const { measureName, measureUnit } = this.props;
    /** @type {(name: string, source: Reading | Difference) => TooltipRow} */
    const measure = (name, source) => [name, `${source.measureText(cell)} ${measureUnit}`];
    /** @type {TooltipRow} */
    const fed = ["input token", this.labels[cell.position]];
    if (!reading.has(cell)) return [fed, ["", this.whyAbsent(reading, cell)]];
    if (reading instanceof Difference) {
      return [fed, ["", measureName], ...[...this.runs, reading].map((each) => measure(each.title, each))];
    }
    /** @type {TooltipRow[]} */
    const tokens = reading.best(cell).map(([token, share]) => [this.vocabulary[token], significant(share), share]);
    return [fed, measure(measureName, reading), ...tokens];
  }

  /** @param {Reading | Difference} reading @param {LensCell} cell */
  whyAbsent(reading, cell) {
    const without = this.runs.find((run) => reading instanceof Difference && !run.has(cell)) ?? reading;
    return `${without.title || "The run"} has no ${cell.layer < without.layers ? "such token" : "such layer"}`;
  }

  // The two lists of top tokens beside each other.
  /** @param {LensCell} cell */
  bestOfBoth(cell) {
    const table = element("table", "both");
    /** @type {(tag: "th" | "td", texts: string[]) => HTMLElement} */
    const line = (tag, texts) => {
      const row = element("tr");
      row.append(...texts.map((text) => element(tag, "", text)));
      return row;
    };
    const [a, b] = this.runs.map((run) => run.best(cell));
    const texts = (/** @type {[number, number]} */ [token, share]) => [this.vocabulary[token], share.toFixed(3)];
    table.append(line("th", ["A", "", "B", ""]), ...a.map((best, rank) => line("td", [...texts(best), ...texts(b[rank])])));
    return table;
  }

  /** @param {LensCell | null} cell */
  pin(cell, delay = 0) {
    this.pinned = cell;
    this.paintSoon();
    this.view.report(cell && [cell.layer, cell.position], delay);
    this.view.announce(...(cell ? this.spoken(cell) : ["nothing pinned"]));
  }

  // Of each run the measure and its best token.
  /** @param {LensCell} cell @returns {(string | TooltipRow[])[]} */
  spoken(cell) {
    const readings = this.runs.flatMap((run) => [run.title, this.describe(run, cell).slice(1, 3)]);
    const turn = turnAt(this.props.turns, cell.position);
    return [this.allLabels[cell.layer], "input token", this.labels[cell.position], turn, ...readings];
  }

  /** @param {number} up @param {number} right */
  move(up, right) {
    const { layer, position } = this.pinned ?? { layer: this.layers - 1 - up, position: -right };
    const last = this.positions - 1;
    this.goTo({ layer: clamp(layer + up, 0, this.layers - 1), position: clamp(position + right, 0, last) });
  }

  /** @param {LensCell} cell */
  goTo(cell) {
    this.pin(cell, HELD_KEY_DELAY);
    this.bringIntoSight();
  }

  // The page's own choice where no cell is pinned: the last place that all runs have.
  get defaultPosition() {
    const inAll = (/** @type {number} */ position) => this.runs.every((run) => run.has({ layer: 0, position }));
    return upTo(this.positions).findLast(inAll) ?? this.positions - 1;
  }

  // Scroll no further than the cell looked at asks for.
  bringIntoSight() {
    const start = (this.pinned?.position ?? this.defaultPosition) * this.cellWidth;
    const visible = this.width - this.left - this.cellWidth;
    const wholeColumns = Math.ceil((start - visible) / this.cellWidth) * this.cellWidth; // none is cut at the left
    this.scroller.scrollLeft = clamp(this.scroller.scrollLeft, wholeColumns, start);
  }
}
