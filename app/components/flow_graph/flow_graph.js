// What a token's last state was made of: tokens across, states of the stream upwards, dots joined by what flows. The
// canvas is only as wide as what is seen of it at a time, however long the prompt is.
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
    this.canvas.onpointermove = (event) => this.point(this.under(event), event.clientX, event.clientY);
    this.canvas.onpointerleave = () => this.point(null);
    this.canvas.onclick = (event) => {
      const found = this.under(event);
      if (found) this.click(found);
      else this.choose([]);
    };
  }

  update(props, arrays) {
    Object.assign(this, props);
    this.data = new Graph(props, arrays);
    this.pointed = null;
    this.view.tooltip.hide();
    const size = `${this.data.nodes.length} nodes, ${this.data.edges.length} edges of at least ${this.threshold}`;
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
    this.map = theme.map.map((_, step) => colourAt(theme.map, FAINTEST + ((1 - FAINTEST) * step) / (MAP_SIZE - 1)));
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
    this.paint();
  }

  // A start is brought into sight once; after that the user scrolls.
  revealStart() {
    if (this.revealed === this.start) return;
    this.revealed = this.start;
    this.reveal({ position: this.start });
  }

  drawLegend() {
    const ticks = [0, 0.01, 0.1, 0.25, 0.5, 1].map((share) => [Math.sqrt(share), String(share)]);
    const title = "share of its node (line), of the start (dot)";
    this.legend.replaceChildren(legendBar({ title, ticks, map: this.map }));
    if (this.data.edges.some(({ kind }) => kind === "mlp")) this.legend.append(legendSwatch("ring: MLP's share", "ring"));
    if (this.title) this.legend.prepend(legendEntry(element("strong", "", this.title)));
  }

  paintSoon() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      if (this.theme) this.paint();
    });
  }

  x(position) {
    return this.left + (position + 0.5) * this.pitch - this.scroller.scrollLeft;
  }

  y(depth) {
    return FLOW_MARGIN + (this.data.top - depth) * STATE_HEIGHT;
  }

  paint() {
    const { canvas, theme, width, height } = this;
    canvas.width = Math.round(width * devicePixelRatio);
    canvas.height = Math.round(height * devicePixelRatio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext("2d");
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.fillStyle = cssColour(theme.background);
    context.fillRect(0, 0, width, height);
    this.paintRows(context);
    context.save();
    context.beginPath();
    context.rect(this.left, 0, width, height);
    context.clip();
    for (const edge of [...this.data.edges].reverse()) this.paintEdge(context, edge, this.colourOf(edge.share));
    for (const edge of [this.chosen, this.pointed]) {
      if (edge && "target" in edge) this.paintEdge(context, edge, edge === this.pointed ? theme.text : theme.pin);
    }
    this.paintTop(context);
    for (const node of this.data.nodes) this.paintNode(context, node);
    this.paintTokens(context);
    context.restore();
  }

  colourOf(share) {
    return colourAt(this.map, Math.sqrt(share));
  }

  paintRows(context) {
    context.textAlign = "right";
    context.textBaseline = "middle";
    const at = this.pointed ?? this.chosen;
    this.states.forEach((name, depth) => {
      const marked = at?.depth === depth;
      context.font = labelFont(this.theme, marked ? 700 : 400);
      context.fillStyle = cssColour(marked ? this.theme.text : this.theme.faded);
      context.fillText(name, this.left - LABEL_GAP, this.y(depth));
      context.fillStyle = cssColour(mixColours(this.theme.background, this.theme.text, 0.09));
      context.fillRect(this.left, this.y(depth) - 0.5, this.width, 1);
    });
  }

  // From where to where an edge goes and how far it bends aside, on the canvas.
  line({ depth, source, target, kind }) {
    const aside = Math.min(BEND, this.pitch / 2 - 3);
    const bend = source !== target ? 0 : { residual: 0, attention: -aside, mlp: aside }[kind];
    return [this.x(source), this.y(depth - 1), this.x(target), this.y(depth), bend];
  }

  paintEdge(context, edge, colour) {
    const [x0, y0, x1, y1, bend] = this.line(edge);
    context.strokeStyle = cssColour(colour);
    context.lineWidth = THINNEST + (THICKEST - THINNEST) * edge.share;
    context.setLineDash(edge.kind === "mlp" ? [4, 3] : []);
    context.beginPath();
    context.moveTo(x0, y0);
    context.quadraticCurveTo((x0 + x1) / 2 + 2 * bend, (y0 + y1) / 2, x1, y1);
    context.stroke();
    context.setLineDash([]);
  }

  // Where else one could start.
  paintTop(context) {
    context.fillStyle = cssColour(this.theme.faded);
    for (let position = 0; position < this.data.positions; position++) {
      if (!this.data.node(this.data.top, position)) this.disc(context, this.data.top, position, FAINT);
      if (samePlace(this.pointed, { depth: this.data.top, position })) this.frameNode(context, this.pointed);
    }
  }

  disc(context, depth, position, radius) {
    context.beginPath();
    context.arc(this.x(position), this.y(depth), radius, 0, 2 * Math.PI);
    context.fill();
  }

  paintNode(context, node) {
    const { depth, position, flow, mlp } = node;
    const { theme } = this;
    context.fillStyle = cssColour(theme.background);
    this.disc(context, depth, position, DOT + (mlp ? RING : 0) + 1);
    if (mlp) {
      context.strokeStyle = cssColour(theme.pin);
      context.lineWidth = RING;
      context.beginPath();
      context.arc(this.x(position), this.y(depth), DOT + RING / 2, -Math.PI / 2, -Math.PI / 2 + 2 * Math.PI * mlp);
      context.stroke();
    }
    context.fillStyle = cssColour(this.colourOf(Math.min(1, flow)));
    this.disc(context, depth, position, DOT - 0.5);
    if (samePlace(node, this.chosen) || samePlace(node, this.pointed)) this.frameNode(context, node);
  }

  frameNode(context, node) {
    const colour = samePlace(node, this.pointed) ? this.theme.text : this.theme.pin;
    strokeTwice(context, this.theme, colour, () => {
      context.beginPath();
      context.arc(this.x(node.position), this.y(node.depth), DOT + RING + 1.5, 0, 2 * Math.PI);
      context.stroke();
    });
  }

  paintTokens(context) {
    const at = this.pointed ?? this.chosen;
    const step = this.turned ? labelStep(this.pitch, LABEL_ROOM) : 1;
    this.labels.forEach((label, position) => {
      const marked = at && [at.position, at.target, at.source].includes(position);
      if (position % step && !marked && position !== this.start) return;
      context.font = labelFont(this.theme, marked || position === this.start ? 700 : 400);
      context.fillStyle = cssColour(marked || position === this.start ? this.theme.text : this.theme.faded);
      context.textBaseline = "middle";
      context.textAlign = this.turned ? "right" : "center";
      context.save();
      context.translate(this.x(position), this.bottom + (this.turned ? 0 : LABEL_GAP));
      if (this.turned) context.rotate(-Math.PI / 2);
      context.fillText(fitText(context, label, this.turned ? LONGEST_LABEL : this.pitch - 4), 0, 0);
      context.restore();
    });
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
    this.scroller.scrollLeft = Math.min(at - this.left, Math.max(scrollLeft, at + this.pitch - this.width));
  }

  point(what, x, y) {
    if (what !== this.pointed) this.paintSoon();
    this.pointed = what;
    this.canvas.classList.toggle("pointing", Boolean(what));
    if (!what) return this.view.tooltip.hide();
    this.view.tooltip.show(x, y, ...this.told(what));
  }

  token(position) {
    return `${position} ${this.labels[position]}`;
  }

  told(what) {
    return "target" in what ? this.toldEdge(what) : this.toldNode(what);
  }

  toldEdge({ depth, source, target, kind, share, carried }) {
    const names = { residual: "residual stream", attention: "attention", mlp: "MLP" };
    const rows = [["from", `${this.token(source)}, ${this.states[depth - 1]}`], ["to", this.token(target)]];
    rows.push(["share of the node", significant(share)], ...(carried ? [["by", carried]] : []));
    return [`${names[kind]} into ${this.states[depth]}`, rows];
  }

  toldNode({ depth, position, flow, bias, rest, mlp }) {
    const rows = [["token", this.token(position)]];
    const hint = this.startable ? "Click to start from here." : "Nothing of this passes here.";
    if (flow === undefined) return [this.states[depth], [...rows, ["", hint]]];
    rows.push(["of the start", significant(flow)]);
    if (mlp) rows.push(["from the MLP", significant(mlp)]);
    if (bias) rows.push(["from the bias b_O", significant(bias)]);
    if (rest) rows.push(["from edits", significant(rest)]);
    const edges = this.data.into({ depth, position }).filter(({ kind }) => kind === "attention");
    for (const edge of edges.slice(0, 5)) rows.push([`← ${this.token(edge.source)}`, significant(edge.share), edge.share]);
    return [this.states[depth], rows];
  }

  say(what) {
    const [title, rows] = this.told(what);
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
    this.view.announce(this.chosen ? `chosen: ${this.told(this.chosen)[0]}` : `start: ${this.token(this.start)}`);
  }
}

export default (component) => mountView(component, FlowGraph);
