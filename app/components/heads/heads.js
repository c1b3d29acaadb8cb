// The chosen heads side by side: the same axes, one crosshair over all of them, one pin, one zoom. Those out of sight
// are not drawn.
const SMALL_CELL = 12; // CSS pixels; below it there are buttons to zoom
const DRAWN_AHEAD = "600px"; // of what the page scrolls to next

/** @typedef {[queries: number[], keys: number[]]} PinValue */
/** @typedef {[x: number, y: number]} Point of the screen */
/**
 * @typedef {How & AxisProps & { panels: PanelProps[], scale: Root, ownScale: boolean, title: [string, string] | null,
 *   others: Partial<Record<Kind, number>>, fetch: string | null }} HeadsProps of heads/__init__.py
 */

/** @implements {Component} */
class Heads {
  listeners = {
    hover: (/** @type {Hovered | null} */ cell) => this.mark(cell),
    pin: (/** @type {Pin | null} */ pin) => this.pin(pin, false),
    head: (/** @type {HeadIndex | null} */ head) => this.panels.forEach((panel) => panel.underline(head)),
    chosen: (/** @type {HeadIndex[] | null} */ heads) => this.choose(heads),
    rows: (/** @type {number | null} */ rows) => {
      this.rows = rows;
      this.drawMarks();
    },
    matrix: (/** @type {HeadIndex} */ head) => this.panelOf(head)?.crop() ?? null,
    resting: (/** @type {number | null} */ place) => {
      this.resting = place;
      this.drawMarks();
    },
    bars: () => (this.props?.ownScale ? [] : this.scaleBars),
    barred: () => this.theme && this.drawLegend(this.theme),
  };
  /** @type {ScaleBar[]} */
  scaleBars = []; // that no other component has
  /** @type {number | null} */
  rows = null; // that are drawn so far, while the first minute draws them one by one
  /** @type {Comparison[]} */
  comparisons = [];
  /** @type {Panel[]} */
  panels = [];
  /** @type {Marks | null} */
  hovered = null;
  /** @type {Marks | null} */
  pinned = null;
  /** @type {Marks | null} */
  beforeClick = null;
  /** @type {number | null} */
  resting = null; // the query that the text's lines come from while nothing is pinned or pointed at
  active = 0;
  /** @type {HeadsProps} */
  props;
  /** @type {Axes} */
  axes;
  /** @type {Sizes} */
  sizes;
  /** @type {Zoom} */
  zoom;
  /** @type {Theme | null} */
  theme = null; // none while panels are not drawn yet
  /** @type {HeadsLayout} */
  layout;
  /** @type {Map<Shown, ColourScale>} */
  scales;

  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.fetched = new FetchedHeads(view);
    this.legend = element("div", "legend");
    this.zoomBar = new ZoomBar(this);
    this.title = element("h2");
    this.explanation = new Explanation(view.tooltip);
    const bars = element("div", "bars");
    bars.append(this.title, this.explanation.mark, this.legend, this.zoomBar.box);
    this.grid = widget("panels", "application", "attention heatmaps");
    this.keys = new HeadKeys(this);
    this.more = element("div", "more");
    view.root.append(bars, this.grid, this.more);
    this.sight = new IntersectionObserver((entries) => this.see(entries), { rootMargin: DRAWN_AHEAD });
  }

  /** @param {HeadsProps} props @param {Arrays} arrays */
  update(props, arrays) {
    this.props = props;
    this.axes = axesOf(props);
    const [title, help] = props.title ?? ["", ""];
    this.title.textContent = title;
    this.explanation.tell(title, help);
    this.sizes = { query: this.axes.query.labels.length, key: this.axes.key.labels.length };
    if (!this.zoom?.isOf(this.sizes)) this.zoom = new Zoom(this.sizes, this.axes);
    this.zoom.axes = this.axes;
    this.fetched.tell(props, arrays);
    this.arrange();
  }

  // Shows the user's choice of heads before Python has answered.
  /** @param {HeadIndex[] | null} heads */
  async choose(heads) {
    if (!(await this.fetched.choose(heads))) return;
    const before = new Set(this.panels);
    this.arrange();
    this.view.drawAnew();
    for (const panel of this.panels) if (!before.has(panel)) this.grow(panel);
  }

  // Out of the thumbnail that was clicked, once its place is known.
  /** @param {Panel} panel */
  async grow(panel) {
    await nextFrame();
    const from = /** @type {Crop | undefined} */ (this.view.link.send("thumbnail", panel.layerHead).find(Boolean));
    if (!from || !panel.box.isConnected) return;
    panel.plot.style.opacity = "0";
    await fly(from, panel.rect);
    panel.plot.style.opacity = "";
  }

  /** @param {HeadIndex} head */
  panelOf(head) {
    return this.panels.find(({ layerHead }) => headName(layerHead) === headName(head));
  }

  // Makes a panel for each matrix; existing ones stay as they are drawn.
  arrange() {
    const { props } = this;
    this.theme = null; // nothing is marked before the new panels are drawn
    const before = this.comparisons;
    this.comparisons = this.fetched.current.map(({ panel, arrays, prefix }) =>
      Comparison.from(panel, arrays, prefix, props, before),
    );
    const drawn = this.panels;
    this.panels = this.comparisons.flatMap((comparison, slot) =>
      comparison.heads.map(
        (_, index) => drawn.find((panel) => panel.isOf(comparison, slot, index)) ?? new Panel(this, comparison, slot, index),
      ),
    );
    setChildren(this.grid, this.panels.map(({ box }) => box));
    const names = this.comparisons.map(({ name }) => name).join(", ");
    this.grid.ariaLabel = `${quantityOf(props)} of ${names}. ${KEY_HELP}`;
    this.activate(Math.min(this.active, Math.max(0, this.panels.length - 1)), false);
  }

  nameHeads() {
    for (const panel of this.panels) panel.nameHead();
  }

  /** @param {PinValue | null} pinned */
  setValue(pinned) {
    this.resting = this.view.link.latest("resting");
    this.pinned = ownMarks(pinned && { queries: pinned[0], keys: pinned[1] }, this.axes);
    this.view.link.send("pin", this.pinned);
    this.mark(null);
    this.watch();
  }

  /** @param {Theme} theme @param {number} width */
  draw(theme, width) {
    const { comparisons, props, axes, sizes } = this;
    this.theme = theme;
    const [rows, columns] = [axes.query, axes.key].map(({ labels }) => widestLabel(probe, theme, labels));
    this.layout = headsLayout(comparisons, width, sizes, { query: rows, key: columns });
    this.scales = colourScales(comparisons, props.scale, props.ownScale, props.others);
    this.drawLegend(theme);
    this.view.tellOfBars();
    const { panel: large, beside, isBelow, visible } = this.layout;
    this.grid.style.gridTemplate = `${this.layout.rows || "none"} / ${this.layout.columns}`;
    this.grid.classList.toggle("beside", beside !== null && !isBelow);
    this.grid.classList.toggle("above", isBelow);
    this.grid.style.maxHeight = visible ? `min(${visible}px, 92vh)` : "";
    this.grid.classList.toggle("scrolls", visible !== null);
    this.more.textContent = visible ? `${comparisons.length} heads: scroll for the rest` : "";
    for (const [place, panel] of this.panels.entries()) {
      panel.place(theme, (place > 0 && beside) || large, this.scaleOf(panel.head));
    }
    this.zoomBar.draw();
    this.lookAround();
    this.drawMarks();
  }

  /** @type {(head: Shown) => ColourScale} */
  scaleOf(head) {
    return /** @type {ColourScale} */ (this.scales.get(head));
  }

  /** @param {Theme} theme */
  drawLegend(theme) {
    const { comparisons, props, axes } = this;
    const all = barsOf(comparisons, this.scales, quantityOf(props));
    this.scaleBars = props.ownScale ? all : ownBars(this.view.link, all);
    const bars = this.scaleBars.map(({ scale, title }) => scale.bar(theme, title, props.ownScale));
    const isSaid = this.view.link.send("lacks", null).some(Boolean);
    const masked = !isSaid && comparisons.some(({ isMasked }) => isMasked);
    const presence = [...axes.query.presence, ...axes.key.presence];
    drawMeasureLegend(this.legend, { bars, ...props, presence, masked });
  }

  // Draws what is in sight at once, and the rest when it comes into sight.
  lookAround() {
    const frame = this.grid.getBoundingClientRect();
    const [top, bottom] = [Math.max(0, frame.top), Math.min(innerHeight, frame.bottom)];
    for (const panel of this.panels) {
      const box = panel.box.getBoundingClientRect();
      panel.show(box.bottom > top && box.top < bottom);
    }
    this.watch();
  }

  // Observes which panels are in sight.
  watch() {
    this.sight.disconnect();
    for (const { box } of this.panels) this.sight.observe(box);
  }

  // What goes with the whole page is left as it is, for when it comes back.
  /** @param {IntersectionObserverEntry[]} entries */
  see(entries) {
    if (!this.theme || !this.grid.isConnected) return;
    /** @type {Map<Element, Panel>} */
    const panels = new Map(this.panels.map((panel) => [panel.box, panel]));
    for (const { target, isIntersecting } of entries) panels.get(target)?.show(isIntersecting);
  }

  /** @param {Hovered | null} cell */
  mark(cell) {
    this.hovered = cell && marksOf(cell);
    this.drawMarks();
  }

  drawMarks() {
    if (this.theme) for (const panel of this.panels) panel.drawMarks();
  }

  /** @param {Panel} panel @param {Cell} cell @param {number} x @param {number} y */
  hover(panel, cell, x, y) {
    this.mark(cell);
    this.view.tooltip.show(x, y, panel.title, panel.describe(cell));
    this.view.link.send("hover", cell);
    this.view.link.send("head", panel.layerHead);
  }

  leave() {
    this.mark(null);
    this.listeners.head(null);
    this.view.tooltip.hide();
    this.view.link.send("hover", null);
    this.view.link.send("head", null);
  }

  // Pins, or unpins with null. The member of the group that was clicked tells the others; this one tells Python, unless
  // the pin is quiet: then it follows from what Python hears of that member.
  /** @param {Pin | null} pin */
  pin(pin, tellGroup = true, delay = 0) {
    this.pinned = pin && { queries: pin.queries, keys: pin.keys };
    this.drawMarks();
    if (tellGroup) this.view.link.send("pin", this.pinned);
    const value = pin && [pin.queries, pin.keys];
    if (pin?.quiet) this.view.keep(value);
    else this.view.report(value, delay);
  }

  /** @param {Panel} panel @param {Cell} cell @param {number} clicks */
  click(panel, { query, key }, clicks) {
    if (clicks > 1) return;
    this.beforeClick = this.pinned;
    this.activate(this.panels.indexOf(panel), false);
    const again = this.cursor?.query === query && this.cursor?.key === key;
    this.pin(again ? null : { queries: [query], keys: [key] });
    this.speak();
  }

  // The first of two clicks pinned or unpinned something: that is undone.
  doubleClick() {
    this.pin(this.beforeClick);
    this.zoomTo((zoom) => zoom.reset());
  }

  // The pinned cell, or the first where several tokens are pinned.
  /** @returns {Cell | null} */
  get cursor() {
    const { queries, keys } = this.pinned ?? { queries: [], keys: [] };
    return queries.length + keys.length > 0 ? { query: queries[0] ?? 0, key: keys[0] ?? 0 } : null;
  }

  /** @param {number} index */
  activate(index, scroll = true) {
    this.active = index;
    this.panels.forEach((panel, other) => panel.box.classList.toggle("active", other === index));
    if (scroll) this.panels[index]?.box.scrollIntoView({ block: "nearest" });
  }

  speak() {
    const panel = this.panels[this.active];
    if (!panel || !this.cursor) return this.view.announce("nothing pinned");
    this.view.announce(panel.title, panel.describe(this.cursor));
  }

  /** @param {(zoom: Zoom) => void} change */
  zoomTo(change) {
    change(this.zoom);
    for (const panel of this.panels) panel.paint();
    this.zoomBar.draw();
    this.view.announce(this.zoom.isWhole ? "all queries and keys" : `zoomed: ${this.zoom.text}`);
  }

  /** @param {number} direction */
  zoomStep(direction) {
    const { cursor } = this;
    this.zoomTo((zoom) => zoom.step(direction, cursor && zoom.has(cursor) ? cursor : zoom.middle));
  }

  // Moves what is zoomed until it holds the cell.
  /** @param {Cell} cell */
  show(cell) {
    if (!this.zoom.has(cell)) this.zoomTo((zoom) => zoom.include(cell));
  }
}
