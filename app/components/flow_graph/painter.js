// Draws what is seen of the graph: lines under dots, the smallest first, and the tokens below.
class FlowPainter {
  /** @param {FlowGraph} graph */
  constructor(graph) {
    this.graph = graph;
  }

  paint() {
    const { canvas, theme, width, height } = this.graph;
    const context = sizedContext(canvas, width, height);
    context.fillStyle = cssColour(theme.background);
    context.fillRect(0, 0, width, height);
    this.paintRows(context);
    context.save();
    context.beginPath();
    context.rect(this.graph.left, 0, width, height);
    context.clip();
    for (const edge of this.graph.data.rising) this.paintEdge(context, edge, this.colourOf(edge.share));
    for (const edge of [this.graph.chosen, this.graph.pointed]) {
      if (edge && isEdge(edge)) this.paintEdge(context, edge, edge === this.graph.pointed ? theme.text : theme.pin);
    }
    this.paintTop(context);
    for (const node of this.graph.data.nodes) this.paintNode(context, node);
    this.paintPrediction(context);
    this.paintTokens(context);
    this.paintPresence(context);
    context.restore();
  }

  /** @param {number} share */
  colourOf(share) {
    if (!this.graph.limit) return colourAt(this.graph.map, Math.sqrt(Math.min(1, share)));
    if (!share) return this.graph.theme.background;
    return colourAt(this.graph.map, 0.5 + (Math.sign(share) * Math.sqrt(Math.abs(share) / this.graph.limit)) / 2);
  }

  /** @param {CanvasRenderingContext2D} context */
  paintRows(context) {
    context.textAlign = "right";
    context.textBaseline = "middle";
    const { theme, left, width, pointed, chosen, props } = this.graph;
    const at = pointed ?? chosen;
    props.states.forEach((name, depth) => {
      const y = this.graph.y(depth);
      const marked = at?.depth === depth;
      setLabelLook(context, theme, marked);
      context.fillText(name, left - LABEL_GAP, y);
      context.fillStyle = cssColour(mixColours(theme.background, theme.text, 0.09));
      context.fillRect(left, y - 0.5, width, 1);
    });
  }

  /** @param {CanvasRenderingContext2D} context @param {FlowEdge} edge @param {Rgb} colour */
  paintEdge(context, edge, colour) {
    const [x0, y0, x1, y1, bend] = this.graph.line(edge);
    context.strokeStyle = cssColour(colour);
    context.lineWidth = THINNEST + (THICKEST - THINNEST) * (Math.abs(edge.share) / (this.graph.limit ?? 1));
    context.setLineDash(edge.kind === "mlp" ? [4, 3] : []);
    context.beginPath();
    context.moveTo(x0, y0);
    const middle = (y0 + y1) / 2;
    if (edge.source === edge.target) context.quadraticCurveTo((x0 + x1) / 2 + 2 * bend, middle, x1, y1);
    else context.bezierCurveTo(x0, middle, x1, middle, x1, y1); // so that lines into one node part
    context.stroke();
    context.setLineDash([]);
  }

  // What comes next by the model, over the start's last state.
  /** @param {CanvasRenderingContext2D} context */
  paintPrediction(context) {
    const { theme, props, start, data, width } = this.graph;
    if (!props.prediction) return;
    setLabelLook(context, theme, true);
    context.textAlign = "center";
    context.textBaseline = "middle";
    const half = context.measureText(props.prediction).width / 2;
    const x = Math.min(this.graph.x(start), width - half - 2);
    context.fillText(props.prediction, x, this.graph.y(data.top) - DOT - RING - CONSTANTS.fonts.sizes.label);
  }

  // Where else one could start.
  /** @param {CanvasRenderingContext2D} context */
  paintTop(context) {
    const { theme, data, pointed } = this.graph;
    const depth = data.top;
    context.fillStyle = cssColour(theme.faded);
    for (const position of upTo(data.positions)) {
      if (!data.node(depth, position)) this.disc(context, depth, position, FAINT);
      if (samePlace({ depth, position }, pointed)) this.frameNode(context, { depth, position });
    }
  }

  /** @param {CanvasRenderingContext2D} context @param {number} depth @param {number} position @param {number} radius */
  disc(context, depth, position, radius) {
    context.beginPath();
    context.arc(this.graph.x(position), this.graph.y(depth), radius, 0, 2 * Math.PI);
    context.fill();
  }

  // What one run alone has stands on its tip.
  /** @param {CanvasRenderingContext2D} context @param {number} depth @param {number} position @param {number} radius */
  diamond(context, depth, position, radius) {
    const [x, y] = [this.graph.x(position), this.graph.y(depth)];
    context.beginPath();
    for (const [dx, dy] of [[0, 1], [1, 0], [0, -1], [-1, 0]]) context.lineTo(x + dx * radius, y + dy * radius);
    context.closePath();
    context.fill();
  }

  /** @param {CanvasRenderingContext2D} context @param {FlowNode} node */
  paintNode(context, node) {
    const { depth, position, flow, mlp, sides } = node;
    const { theme } = this.graph;
    context.fillStyle = cssColour(theme.background);
    if (this.graph.limit) {
      const shape = sides.some(Number.isNaN) ? "diamond" : "disc";
      this[shape](context, depth, position, DOT + 1);
      context.fillStyle = cssColour(theme.faded);
      this[shape](context, depth, position, DOT);
      context.fillStyle = cssColour(this.colourOf(flow));
      this[shape](context, depth, position, DOT - 1);
    } else {
      this.disc(context, depth, position, DOT + (mlp ? RING : 0) + 1);
      if (mlp) this.paintRing(context, node);
      context.fillStyle = cssColour(this.colourOf(flow));
      this.disc(context, depth, position, DOT - 0.5);
    }
    if (samePlace(node, this.graph.chosen) || samePlace(node, this.graph.pointed)) this.frameNode(context, node);
  }

  /** @param {CanvasRenderingContext2D} context @param {FlowNode} node */
  paintRing(context, { depth, position, mlp }) {
    context.strokeStyle = this.graph.theme.tokens.mlp;
    context.lineWidth = RING;
    context.beginPath();
    context.arc(this.graph.x(position), this.graph.y(depth), DOT + RING / 2, -Math.PI / 2, -Math.PI / 2 + 2 * Math.PI * mlp);
    context.stroke();
  }

  /** @param {CanvasRenderingContext2D} context @param {FlowPlace} node */
  frameNode(context, node) {
    const colour = samePlace(node, this.graph.pointed) ? this.graph.theme.text : this.graph.theme.pin;
    strokeTwice(context, this.graph.theme, colour, () => {
      context.beginPath();
      context.arc(this.graph.x(node.position), this.graph.y(node.depth), DOT + RING + 1.5, 0, 2 * Math.PI);
      context.stroke();
    });
  }

  /** @param {CanvasRenderingContext2D} context */
  paintTokens(context) {
    const { theme, turned, bottom, start, pointed, chosen, props, data } = this.graph;
    const at = pointed ?? chosen;
    const ends = at && (isEdge(at) ? [at.target, at.source] : [at.position]);
    context.textBaseline = "middle";
    context.textAlign = turned ? "right" : "center";
    props.labels.map(shortLabel).forEach((label, position) => {
      const marked = position === start || ends?.includes(position);
      setLabelLook(context, theme, marked);
      if (!marked && data.nodes.some((node) => node.position === position)) context.fillStyle = cssColour(theme.text);
      context.save();
      context.translate(this.graph.x(position), bottom + (turned ? 0 : LABEL_GAP));
      if (turned) context.rotate(-Math.PI / 2);
      context.fillText(fitText(context, label, turned ? LONGEST_LABEL : this.graph.columnWidth(position) - 4), 0, 0);
      context.restore();
    });
  }

  // Under the lowest state: an empty bar for what A alone has, a full one for B.
  /** @param {CanvasRenderingContext2D} context */
  paintPresence(context) {
    const { theme, bottom, props } = this.graph;
    const y = bottom - MARK_WIDTH - 1;
    props.presence.forEach((kind, position) => {
      const width = this.graph.columnWidth(position) - 4;
      const x = this.graph.x(position) - width / 2;
      context.fillStyle = context.strokeStyle = cssColour(kind === "a" ? theme.onlyA : theme.onlyB);
      context.lineWidth = 1;
      if (kind === "a") context.strokeRect(x + 0.5, y + 0.5, width - 1, MARK_WIDTH - 1);
      else if (kind === "b") context.fillRect(x, y, width, MARK_WIDTH);
    });
  }
}
