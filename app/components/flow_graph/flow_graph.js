// What a token's last state was made of: tokens across, states of the stream upwards, dots joined by what flows, or by
// what flows more or less in B than in A. The canvas is only as wide as what is seen of it at a time, however long the
// prompt is.
const NARROWEST_COLUMN = 24; // CSS pixels
const WIDEST_COLUMN = 78;
const STATE_HEIGHT = 30;
const FLOW_MARGIN = 14;
const DOT = 6;
const RING = 3.5; // around a dot, for the MLP's share
const FAINTEST = 0.22; // of the colour map: what is small is still to be seen on the background
const FAINT = 1.6; // the radius of a top dot that is not the start
const THINNEST = 1;
const THICKEST = 7;
const BEND = 13; // of the two edges that stay at their position, to the left of and to the right of the residual's
const NEAR = 7;

const SHARES = {
  title: "share of its node (line), of the start (dot)",
  ticks: [0, 0.01, 0.1, 0.25, 0.5, 1].map((share) => [Math.sqrt(share), String(share)]),
};

class FlowGraph {
  listeners = {};
  pointed = null; // a node or an edge under the pointer or the keys
  chosen = null;

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
    this.scroller.setAttribute("aria-roledescription", "graph");
    this.scroller.onscroll = () => this.paintSoon();
    this.keys = new FlowKeys(this);
    this.words = new FlowWords(this);
    this.painter = new FlowPainter(this);
    this.canvas.onpointermove = (event) => this.point(this.under(event), event.clientX, event.clientY);
    this.canvas.onpointerleave = () => this.leave();
    this.canvas.onclick = (event) => {
      const found = this.under(event);
      if (found) this.click(found);
      else this.choose([]);
    };
  }

  update(props, arrays) {
    Object.assign(this, props);
    this.limit &&= roundLimitUp(this.limit);
    this.data = new Graph(props, arrays);
    this.pointed = null;
    this.view.tooltip.hide();
    const counted = this.limit ? "edges changed by at least" : "edges of at least";
    const size = `${this.data.nodes.length} nodes, ${this.data.edges.length} ${counted} ${this.threshold}`;
    this.scroller.ariaLabel = `${this.title ? `${this.title}: ` : ""}information flow, ${size}. ${FLOW_HELP}`;
  }

  setValue([start, ...place]) {
    this.start = Math.min(start, this.labels.length - 1);
    this.chosen = this.found(place);
    if (this.theme) this.revealStart();
    this.paintSoon();
  }

  // The node or edge of a value; null where the graph lacks it.
  found(place) {
    if (place.length === 2) return this.data.node(...place) ?? null;
    return place.length === 3 ? (this.data.edge(...place) ?? null) : null;
  }

  draw(theme, width) {
    Object.assign(this, { theme, width });
    const shown = this.limit ? theme.diverging : theme.map;
    this.map = shown.map((_, step) => colourAt(shown, this.visible(step / (MAP_SIZE - 1))));
    const context = this.canvas.getContext("2d");
    context.font = labelFont(theme);
    const widest = (labels) => Math.ceil(Math.max(...labels.map((text) => context.measureText(text).width)));
    this.left = widest(this.states) + 2 * LABEL_GAP;
    const room = (width - this.left - FLOW_MARGIN) / this.labels.length;
    this.pitch = Math.floor(Math.min(WIDEST_COLUMN, Math.max(NARROWEST_COLUMN, room)));
    const longest = Math.min(LONGEST_LABEL, widest(this.labels));
    this.turned = longest > this.pitch - 4;
    this.bottom = this.data.top * STATE_HEIGHT + 2 * FLOW_MARGIN;
    this.height = this.bottom + (this.turned ? longest : LABEL_FONT_SIZE) + 2 * LABEL_GAP;
    this.sheet.style.width = `${this.left + this.labels.length * this.pitch + FLOW_MARGIN}px`;
    this.drawLegend();
    this.revealStart();
    this.painter.paint();
  }

  // The place in the colour map of a share of the bar: never the background's own colour.
  visible(share) {
    const far = (size) => FAINTEST + (1 - FAINTEST) * size;
    if (!this.limit) return far(share);
    const size = 2 * share - 1;
    return 0.5 + (Math.sign(size) * far(Math.abs(size))) / 2;
  }

  // A start is brought into sight once; after that the user scrolls.
  revealStart() {
    if (this.revealed === this.start) return;
    this.revealed = this.start;
    this.reveal({ position: this.start });
  }

  drawLegend() {
    this.legend.replaceChildren(legendBar({ ...(this.limit ? this.changes() : SHARES), map: this.map }));
    const kinds = ["a", "b"].filter((kind) => this.presence.includes(kind));
    this.legend.append(...kinds.map((kind) => legendSwatch(`◆ ${PRESENCE_NAMES[kind]}`, `presence ${kind}`)));
    const rings = !this.limit && this.data.edges.some(({ kind }) => kind === "mlp");
    if (rings) this.legend.append(legendSwatch("ring: MLP's share", "ring"));
    if (this.limit) this.legend.append(legendEntry(element("span", "title", "dashed: MLP")));
    if (this.title) this.legend.prepend(legendEntry(element("strong", "", this.title)));
  }

  // The colour bar of changes: as far to the one side as to the other.
  changes() {
    const ticks = TICK_SHARES.sqrt.signed.map((share) => [0.5 + (Math.sign(share) * Math.sqrt(Math.abs(share))) / 2, share]);
    const size = (share) => Number(Math.abs(share * this.limit).toPrecision(2));
    const named = (share) => `${share > 0 ? "+" : ""}${share < 0 ? "−" : ""}${size(share)}`;
    return { title: SHARES.title, ticks: ticks.map(([at, share]) => [at, named(share)]) };
  }

  paintSoon() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      if (this.theme) this.painter.paint();
    });
  }

  x(position) {
    return this.left + (position + 0.5) * this.pitch - this.scroller.scrollLeft;
  }

  y(depth) {
    return FLOW_MARGIN + (this.data.top - depth) * STATE_HEIGHT;
  }

  // From where to where an edge goes and how far it bends aside, on the canvas.
  line({ depth, source, target, kind }) {
    const aside = Math.min(BEND, (this.pitch - THICKEST) / 2 - 1); // so that a thick one stays in its column
    const bend = source !== target ? 0 : { residual: 0, attention: -aside, mlp: aside }[kind];
    return [this.x(source), this.y(depth - 1), this.x(target), this.y(depth), bend];
  }

  // The node under the pointer, or else the nearest edge; a top dot can be pointed at wherever it is.
  under(event) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const depth = this.data.top - Math.round((y - FLOW_MARGIN) / STATE_HEIGHT);
    const position = Math.floor((x + this.scroller.scrollLeft - this.left) / this.pitch);
    if (x < this.left || position >= this.data.positions || y > this.bottom) return null;
    const reach = DOT + RING + (event.pointerType === "touch" ? 5 : 1);
    const onDot = Math.hypot(x - this.x(position), y - this.y(depth)) <= reach;
    if (onDot && this.data.has(depth, position)) return this.data.node(depth, position) ?? { depth, position };
    return this.edgeNear(x, y);
  }

  edgeNear(x, y) {
    let [found, least] = [null, NEAR];
    for (const edge of this.data.edges) {
      const [x0, y0, x1, y1, bend] = this.line(edge);
      const share = (y0 - y) / (y0 - y1);
      if (share < 0 || share > 1) continue;
      const aside = x0 + share * (x1 - x0) + 4 * share * (1 - share) * bend;
      const slope = Math.hypot(x1 - x0, y1 - y0) / Math.abs(y1 - y0);
      const distance = Math.abs(x - aside) / slope;
      if (distance < least) [found, least] = [edge, distance];
    }
    return found;
  }

  onScreen(what) {
    const box = this.canvas.getBoundingClientRect();
    if (!("target" in what)) return [box.left + this.x(what.position) + DOT, box.top + this.y(what.depth) + DOT];
    const [x0, y0, x1, y1] = this.line(what);
    return [box.left + (x0 + x1) / 2, box.top + (y0 + y1) / 2];
  }

  // Scrolls the graph, and not the page, until the place is seen.
  reveal(what) {
    const at = this.left + (what.position ?? what.target) * this.pitch;
    const { scrollLeft } = this.scroller;
    this.scroller.scrollLeft = Math.min(at - this.left, Math.max(scrollLeft, at + this.pitch + FLOW_MARGIN - this.width));
  }

  point(what, x, y) {
    if (what !== this.pointed) this.paintSoon();
    this.pointed = what;
    this.canvas.classList.toggle("pointing", Boolean(what));
    if (!what) return this.view.tooltip.hide();
    this.view.tooltip.show(x, y, ...this.words.of(what));
  }

  leave() {
    this.point(null);
  }

  say(what) {
    const [title, rows] = this.words.of(what);
    this.view.announce([title, ...rows.map((row) => row.slice(0, 2)).flat()].filter(Boolean).join(" "));
  }

  click(what) {
    if ("target" in what) {
      const { kind, depth, target, source } = what;
      return this.choose(kind === "attention" ? [depth, target, source] : [depth, target]);
    }
    if (what.depth === this.data.top && what.position !== this.start) {
      if (!this.startable) return;
      this.start = what.position;
      return this.choose([]);
    }
    this.choose(samePlace(what, this.chosen) ? [] : [what.depth, what.position]);
  }

  choose(place) {
    this.chosen = this.found(place);
    this.paintSoon();
    this.view.report([this.start, ...place]);
    this.view.announce(this.chosen ? `chosen: ${this.words.of(this.chosen)[0]}` : `start: ${this.words.token(this.start)}`);
  }
}
