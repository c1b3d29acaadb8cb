// What is told of a node or an edge, at the pointer and to a screen reader.
class FlowWords {
  /** @param {FlowGraph} graph */
  constructor(graph) {
    this.graph = graph;
  }

  /** @param {number} position */
  token(position) {
    const { places, labels } = this.graph.props;
    return `${places[position]} ${labels[position]}`;
  }

  /** @type {(what: Flowing) => TooltipText} */
  of(what) {
    if (isEdge(what)) return this.edge(what);
    return "flow" in what ? this.node(what) : this.place(what);
  }

  /** @type {(edge: FlowEdge) => TooltipText} */
  edge({ depth, source, target, kind, share, carried, sides }) {
    const names = { residual: "residual stream", attention: "attention", mlp: "MLP" };
    /** @type {TooltipRow[]} */
    const rows = [["from", `${this.token(source)}, ${this.graph.props.states[depth - 1]}`], ["to", this.token(target)]];
    rows.push(...this.share("share of the node", share, sides));
    if (carried) rows.push(["by", carried]);
    return [`${names[kind]} into ${this.graph.props.states[depth]}`, rows];
  }

  // A share, or what it is in A and in B and how it changes.
  /** @type {(called: string, share: number, sides: InBoth) => TooltipRow[]} */
  share(called, share, [a, b]) {
    if (!this.graph.limit) return [[called, significant(share)]];
    /** @type {(value: number, name: string) => TooltipRow} */
    const side = (value, name) => [`${called} in ${name}`, Number.isNaN(value) ? "no such token" : significant(value)];
    return [side(a, "A"), side(b, "B"), ["B − A", withSign(share)]];
  }

  // Where no node is.
  /** @type {(place: FlowPlace) => TooltipText} */
  place({ depth, position }) {
    const hint = this.graph.props.startable ? "Click to start from here." : "No flow from the chosen token.";
    return [this.graph.props.states[depth], [["token", this.token(position)], ["", hint]]];
  }

  /** @type {(node: FlowNode) => TooltipText} */
  node({ depth, position, flow, bias, rest, mlp, sides }) {
    /** @type {TooltipRow[]} */
    const rows = [["token", this.token(position)]];
    rows.push(...this.share("of the start", flow, sides));
    /** @type {[name: string, part: number][]} */
    const parts = [["from the MLP", mlp], ["from the bias b_O", bias], ["from edits", rest]];
    for (const [name, part] of parts) if (part && !this.graph.limit) rows.push([name, significant(part)]);
    return [this.graph.props.states[depth], [...rows, ...this.sources({ depth, position })]];
  }

  /** @type {(node: FlowPlace) => TooltipRow[]} */
  sources(node) {
    const edges = this.graph.data.into(node).filter(({ kind }) => kind === "attention");
    const format = this.graph.limit ? withSign : significant;
    const part = (/** @type {number} */ share) => Math.abs(share) / (this.graph.limit ?? 1);
    return edges.slice(0, 5).map(({ source, share }) => [`← ${this.token(source)}`, format(share), part(share)]);
  }
}
