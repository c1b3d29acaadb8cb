// What is told of a node or an edge, at the pointer and to a screen reader.
class FlowWords {
  constructor(graph) {
    this.graph = graph;
  }

  token(position) {
    return `${position} ${this.graph.labels[position]}`;
  }

  // A title and rows [name, value] or, with a bar, [name, value, share].
  of(what) {
    return "target" in what ? this.edge(what) : this.node(what);
  }

  edge({ depth, source, target, kind, share, carried, sides }) {
    const names = { residual: "residual stream", attention: "attention", mlp: "MLP" };
    const rows = [["from", `${this.token(source)}, ${this.graph.states[depth - 1]}`], ["to", this.token(target)]];
    rows.push(...this.share("share of the node", share, sides), ...(carried ? [["by", carried]] : []));
    return [`${names[kind]} into ${this.graph.states[depth]}`, rows];
  }

  // A share, or what it is in A and in B and how it changes.
  share(called, share, [a, b]) {
    if (!this.graph.limit) return [[called, significant(share)]];
    const side = (value, name) => [`${called} in ${name}`, Number.isNaN(value) ? "no such token" : significant(value)];
    return [side(a, "A"), side(b, "B"), ["B − A", withSign(share)]];
  }

  node({ depth, position, flow, bias, rest, mlp, sides }) {
    const rows = [["token", this.token(position)]];
    const hint = this.graph.startable ? "Choose it to start from here." : "Nothing of this passes here.";
    if (flow === undefined) return [this.graph.states[depth], [...rows, ["", hint]]];
    rows.push(...this.share("of the start", flow, sides));
    if (this.graph.limit) return [this.graph.states[depth], [...rows, ...this.sources({ depth, position })]];
    if (mlp) rows.push(["from the MLP", significant(mlp)]);
    if (bias) rows.push(["from the bias b_O", significant(bias)]);
    if (rest) rows.push(["from edits", significant(rest)]);
    return [this.graph.states[depth], [...rows, ...this.sources({ depth, position })]];
  }

  sources(node) {
    const edges = this.graph.data.into(node).filter(({ kind }) => kind === "attention");
    const told = this.graph.limit ? withSign : significant;
    const part = (share) => Math.abs(share) / (this.graph.limit ?? 1);
    return edges.slice(0, 5).map(({ source, share }) => [`← ${this.token(source)}`, told(share), part(share)]);
  }
}
