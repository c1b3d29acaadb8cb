// The graph in numbers: nodes { depth, position, flow, bias, rest, mlp, sides }, edges { depth, target, source, kind,
// share, carried, sides }; an edge leads from `source` one depth below to `target` at `depth`. Of a change from A to B
// `flow` and `share` are signed, and `sides` are what they are in A and in B, NaN where one lacks it. Values of the
// component are [start], [start, depth, position] for a node or [start, depth, target, source] for an edge.
class Graph {
  constructor({ labels, states, kinds, carried }, { nodes, numbers, edges, shares, nodeSides, edgeSides }) {
    const pair = (sides, row) => [sides.values[2 * row], sides.values[2 * row + 1]];
    this.top = states.length - 1;
    this.positions = labels.length;
    this.nodes = upTo(nodes.shape[0]).map((row) => {
      const [depth, position] = nodes.values.slice(2 * row);
      const [flow, bias, rest] = numbers.values.slice(3 * row);
      return { depth, position, flow, bias, rest, mlp: 0, sides: pair(nodeSides, row) };
    });
    this.byPlace = new Map(this.nodes.map((node) => [`${node.depth} ${node.position}`, node]));
    this.edges = kinds.map((kind, row) => {
      const [depth, target, source] = edges.values.slice(3 * row);
      return { depth, target, source, kind, share: shares.values[row], carried: carried[row], sides: pair(edgeSides, row) };
    });
    for (const edge of this.edges) if (edge.kind === "mlp") this.node(edge.depth, edge.target).mlp = edge.share;
  }

  node(depth, position) {
    return this.byPlace.get(`${depth} ${position}`);
  }

  // Every position of the top row can be started from, whether or not the flow reaches it.
  has(depth, position) {
    return this.byPlace.has(`${depth} ${position}`) || (depth === this.top && position >= 0 && position < this.positions);
  }

  // The edges from the smallest to the largest, so that these are drawn over those.
  get rising() {
    return [...this.edges].sort((one, other) => Math.abs(one.share) - Math.abs(other.share));
  }

  // The edges into a node, the largest first.
  into({ depth, position }) {
    const found = this.edges.filter((edge) => edge.depth === depth && edge.target === position);
    return found.sort((one, other) => Math.abs(other.share) - Math.abs(one.share));
  }

  edge(depth, target, source) {
    const isIt = (edge) => edge.kind === "attention" && edge.depth === depth && edge.target === target;
    return this.edges.find((edge) => isIt(edge) && edge.source === source);
  }

  // The nearest node of a depth, or undefined where it has none.
  nearest(depth, position) {
    const there = depth === this.top ? upTo(this.positions).map((at) => ({ depth, position: at })) : this.nodes;
    const distance = (node) => Math.abs(node.position - position);
    return there.filter((node) => node.depth === depth).sort((one, other) => distance(one) - distance(other))[0];
  }

  beside({ depth, position }, step) {
    for (let at = position + step; at >= 0 && at < this.positions; at += step) {
      if (this.has(depth, at)) return { depth, position: at };
    }
    return undefined;
  }
}

const sameEdge = (one, other) => Boolean(one && other) && one.depth === other.depth && one.target === other.target &&
  one.source === other.source && one.kind === other.kind;
const samePlace = (one, other) => Boolean(one && other) && one.depth === other.depth && one.position === other.position;
