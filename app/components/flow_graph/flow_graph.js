// What a token's last state was made of: tokens across, states of the stream upwards, dots joined by what flows, or by
// what flows more or less in B than in A. The canvas is only as wide as what is seen of it at a time, however long the
// prompt is.
const [LEAST_ROW, MAX_ROW] = [22, 44]; // of a state, in CSS pixels
const AROUND_FLOW = 360; // of the window, what stands around the rows
const FLOW_MARGIN = 14;
const DOT = 6;
const RING = 3.5; // around a dot, for the MLP's share
const FAINTEST = 0.22; // of the colour map: what is small is still to be seen on the background
const FAINT = 1.6; // the radius of a top dot that is not the start
const THINNEST = 1;
const THICKEST = 7;
const BEND = 13; // of the two edges that stay at their position, to the left of and to the right of the residual's
const NEAR = 7;

// Of a line that leaves and arrives upright: how steeply its height rises along it, and where it has a share of it.
/** @type {(at: number) => number} */
const rising = (at) => 1.5 - 3 * at + 3 * at * at;
/** @type {(share: number) => number} */
function curveAt(share) {
  let at = share;
  for (let step = 0; step < 5; step++) at -= (1.5 * at * (1 - at) + at ** 3 - share) / rising(at);
  return at;
}

const PREDICTION = 20; // CSS pixels over the top dots, for what is predicted from the start

/** @implements {Component} */
class FlowGraph {
  /** @type {Flowing | null} */
  pointed = null; // under the pointer or the keys
  /** @type {FlowNode | FlowEdge | null} */
  chosen = null;
  start = 0;
  /** @type {number | undefined} */
  revealed; // the start that was brought into sight; none of a graph that is not drawn yet
  /** @type {Graph} */
  data;
  /** @type {FlowProps} */
  props;
  /** @type {number | null} */
  limit = null; // of changes, rounded up
  /** @type {Theme} */
  theme;
  /** @type {Rgb[]} */
  map = [];
  width = 0; // from here on CSS pixels
  left = 0;
  /** @type {number[]} */
  columns = []; // where each begins to the right of that, and where they end
  row = MAX_ROW;
  upper = FLOW_MARGIN; // where the top dots are
  bottom = 0;
  height = 0;
  turned = false; // whether the tokens are

  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.legend = element("div", "legend");
    this.scroller = widget("scroller wide", "application", "graph");
    this.sheet = element("div", "sheet");
    this.canvas = element("canvas");
    this.sheet.append(this.canvas);
    this.scroller.append(this.sheet);
    view.root.append(this.legend, this.scroller);
    this.paintSoon = atNextFrame(() => this.theme && this.painter.paint());
    this.scroller.onscroll = this.paintSoon;
    this.keys = new FlowKeys(this);
    this.words = new FlowWords(this);
    this.painter = new FlowPainter(this);
    this.canvas.onpointermove = (event) => this.point(this.under(event), event.clientX, event.clientY);
    this.canvas.onpointerleave = () => this.leave();
    offerHeadMenu(this.canvas, (event) => this.headsOf(this.under(/** @type {PointerEvent} */ (event))));
    this.canvas.onclick = (/** @type {PointerEvent} */ event) => {
      const pointed = this.under(event);
      if (pointed) this.click(pointed);
      else this.choose([]);
    };
  }

  /** @param {FlowProps} props @param {FlowArrays} arrays */
  update(props, arrays) {
    this.props = props;
    this.limit = props.limit && roundLimitUp(props.limit);
    const before = this.data?.positions;
    this.data = new Graph(props, arrays);
    if (this.data.positions !== before) this.revealed = undefined; // until it is drawn as wide as it now is
    this.pointed = null;
    this.view.tooltip.hide();
    const { title, threshold } = props;
    const counted = this.limit ? "edges changed by at least" : "edges of at least";
    const size = `${this.data.nodes.length} nodes, ${this.data.edges.length} ${counted} ${threshold}`;
    this.scroller.ariaLabel = `${title ? `${title}: ` : ""}information flow, ${size}. ${FLOW_HELP}`;
  }

  /** @param {number[]} value */
  setValue([start, ...place]) {
    this.start = Math.min(start, this.props.labels.length - 1);
    this.chosen = this.at(place);
    if (this.revealed !== undefined) this.revealStart();
    this.paintSoon();
  }

  // The node or edge of a value; null where the graph lacks it.
  /** @param {number[]} place */
  at(place) {
    const [depth, target, source] = place;
    if (place.length === 2) return this.data.node(depth, target) ?? null;
    return place.length === 3 ? (this.data.edge(depth, target, source) ?? null) : null;
  }

  /** @param {Theme} theme @param {number} width */
  draw(theme, width) {
    Object.assign(this, { theme, width });
    const colours = this.limit ? theme.diverging : theme.map;
    this.map = colours.map((_, step) => colourAt(colours, this.visible(step / (MAP_SIZE - 1))));
    const context = contextOf(this.canvas);
    context.font = labelFont(theme);
    this.left = Math.ceil(textWidth(context, this.props.states)) + 2 * LABEL_GAP;
    this.columns = this.data.columns(width - this.left - FLOW_MARGIN);
    const widths = this.props.labels.map((label) => Math.min(LONGEST_LABEL, Math.ceil(textWidth(context, [label]))));
    const longest = Math.max(...widths);
    this.turned = widths.some((label, position) => label > this.columnWidth(position) - 4);
    this.row = Math.floor(clamp((innerHeight - AROUND_FLOW) / this.data.top, LEAST_ROW, MAX_ROW));
    this.upper = FLOW_MARGIN + (this.props.prediction ? PREDICTION : 0);
    this.bottom = this.data.top * this.row + this.upper + FLOW_MARGIN;
    this.height = this.bottom + (this.turned ? longest : CONSTANTS.fonts.sizes.label) + 2 * LABEL_GAP;
    this.sheet.style.width = `${this.left + this.columns[this.data.positions] + FLOW_MARGIN}px`;
    this.drawLegend();
    this.revealStart();
    this.painter.paint();
  }

  // The place in the colour map of a share of the bar: never the background's own colour.
  /** @param {number} share */
  visible(share) {
    const far = (/** @type {number} */ size) => FAINTEST + (1 - FAINTEST) * size;
    if (!this.limit) return far(share);
    const size = 2 * share - 1;
    return 0.5 + (Math.sign(size) * far(Math.abs(size))) / 2;
  }

  // A start is brought into sight once; after that the user scrolls.
  revealStart() {
    if (this.revealed === this.start) return;
    this.revealed = this.start;
    this.reveal(this.start);
  }

  drawLegend() {
    const scale = new ColourScale({ signed: Boolean(this.limit), root: "sqrt", limit: this.limit || 1 });
    const shares = [legendSwatch("line: share of its node", "flow"), legendSwatch("dot: share of the start", "flow dot")];
    this.legend.replaceChildren(...shares, legendBar({ title: "", ticks: scale.ticks(), map: this.map }));
    /** @type {Presence[]} */
    const kinds = ["a", "b"];
    for (const kind of kinds.filter((each) => this.props.presence.includes(each))) {
      this.legend.append(legendSwatch(`◆ ${PRESENCE_NAMES[kind]}`, `presence ${kind}`));
    }
    const rings = !this.limit && this.data.edges.some(({ kind }) => kind === "mlp");
    if (rings) this.legend.append(legendSwatch("ring: share from the MLP", "ring"));
    if (this.limit) this.legend.append(legendEntry(element("span", "title", "dashed: MLP")));
    const { title } = this.props;
    if (title) this.legend.prepend(legendEntry(element("strong", "", title)));
    this.legend.classList.toggle("elsewhere", !this.props.bar);
  }

  /** @param {number} position */
  x(position) {
    return this.left + this.columns[position] + this.columnWidth(position) / 2 - this.scroller.scrollLeft;
  }

  /** @param {number} position */
  columnWidth(position) {
    return this.columns[position + 1] - this.columns[position];
  }

  /** @param {number} depth */
  y(depth) {
    return this.upper + (this.data.top - depth) * this.row;
  }

  // From where to where an edge goes and how far it bends aside, on the canvas.
  /** @type {(edge: FlowEdge) => [x0: number, y0: number, x1: number, y1: number, bend: number]} */
  line({ depth, source, target, kind }) {
    const aside = Math.min(BEND, (this.columnWidth(source) - THICKEST) / 2 - 1); // so that a thick one stays in its column
    const bend = source !== target ? 0 : { residual: 0, attention: -aside, mlp: aside }[kind];
    return [this.x(source), this.y(depth - 1), this.x(target), this.y(depth), bend];
  }

  // The node under the pointer, or else the nearest edge; a top dot can be pointed at wherever it is.
  /** @type {(event: PointerEvent) => Flowing | null} */
  under(event) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const depth = this.data.top - Math.round((y - this.upper) / this.row);
    const position = this.columns.findIndex((begin) => begin > x + this.scroller.scrollLeft - this.left) - 1;
    if (x < this.left || position < 0 || y > this.bottom) return null;
    const reach = DOT + RING + (event.pointerType === "touch" ? 5 : 1);
    const onDot = Math.hypot(x - this.x(position), y - this.y(depth)) <= reach;
    if (onDot && this.data.has(depth, position)) return this.data.node(depth, position) ?? { depth, position };
    return this.edgeNear(x, y);
  }

  /** @param {number} x @param {number} y */
  edgeNear(x, y) {
    /** @type {FlowEdge | null} */
    let nearest = null;
    let least = NEAR;
    for (const edge of this.data.edges) {
      const [x0, y0, x1, y1, bend] = this.line(edge);
      const share = (y0 - y) / (y0 - y1);
      if (share < 0 || share > 1) continue;
      const [aside, slope] = this.passes(x1 - x0, y1 - y0, share, bend);
      const distance = Math.abs(x - x0 - aside) / slope;
      if (distance < least) [nearest, least] = [edge, distance];
    }
    return nearest;
  }

  // How far aside an edge is at a share of its height, and how long it is there for its height.
  /** @param {number} wide @param {number} high @param {number} share @param {number} bend */
  passes(wide, high, share, bend) {
    if (wide === 0) return [4 * share * (1 - share) * bend, 1];
    const at = curveAt(share);
    return [wide * at * at * (3 - 2 * at), Math.hypot(6 * wide * at * (1 - at), high * rising(at)) / Math.abs(high * rising(at))];
  }

  /** @param {Flowing} what */
  onScreen(what) {
    const box = this.canvas.getBoundingClientRect();
    if (!isEdge(what)) return [box.left + this.x(what.position) + DOT, box.top + this.y(what.depth) + DOT];
    const [x0, y0, x1, y1] = this.line(what);
    return [box.left + (x0 + x1) / 2, box.top + (y0 + y1) / 2];
  }

  // Scrolls the graph, and not the page, until the position is seen.
  /** @param {number} position */
  reveal(position) {
    const [begin, end] = this.columns.slice(position);
    const { scrollLeft } = this.scroller;
    this.scroller.scrollLeft = clamp(scrollLeft, this.left + end + FLOW_MARGIN - this.width, begin);
  }

  /** @param {Flowing | null} what */
  point(what, x = 0, y = 0) {
    if (what !== this.pointed) this.paintSoon();
    this.pointed = what;
    this.canvas.classList.toggle("pointing", Boolean(what));
    if (!what) return this.view.tooltip.hide();
    this.view.tooltip.show(x, y, ...this.words.of(what));
  }

  leave() {
    this.point(null);
  }

  /** @param {Flowing} what */
  say(what) {
    this.view.announce(...this.words.of(what));
  }

  // The heads that carry most of an edge, or of the edges into a node.
  /** @param {Flowing | null} what @returns {HeadIndex[]} */
  headsOf(what) {
    if (!what) return [];
    return headsIn(...(isEdge(what) ? [what] : this.data.into(what)).map(({ carried }) => carried));
  }

  // Of what the keys are at.
  openMenu() {
    const what = this.pointed ?? this.chosen;
    if (!what) return;
    const [x, y] = this.onScreen(what);
    openHeadMenu(this.headsOf(what), x, y);
  }

  /** @param {Flowing} what */
  click(what) {
    if (isEdge(what)) {
      const { kind, depth, target, source } = what;
      return this.choose(kind === "attention" ? [depth, target, source] : [depth, target]);
    }
    if (what.depth === this.data.top && what.position !== this.start) {
      if (!this.props.startable) return;
      this.start = what.position;
      return this.choose([]);
    }
    this.choose(samePlace(what, this.chosen) ? [] : [what.depth, what.position]);
  }

  /** @param {number[]} place */
  choose(place) {
    this.chosen = this.at(place);
    this.paintSoon();
    this.view.report([this.start, ...place]);
    this.view.announce(this.chosen ? `chosen: ${this.words.of(this.chosen)[0]}` : `start: ${this.words.token(this.start)}`);
  }
}
