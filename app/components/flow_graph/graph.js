// The graph in numbers: nodes { depth, position, flow, bias, rest, mlp, sides }, edges { depth, target, source, kind,
// share, carried, sides }; an edge leads from `source` one depth below to `target` at `depth`. Of a change from A to B
// `flow` and `share` are signed, and `sides` are what they are in A and in B, NaN where one lacks it. Values of the
// component are [start], [start, depth, position] for a node or [start, depth, target, source] for an edge.
/** @typedef {[a: number, b: number]} InBoth */
/** @typedef {"residual" | "attention" | "mlp"} EdgeKind */
/** @typedef {{ depth: number, position: number }} FlowPlace */
/** @typedef {FlowPlace & { flow: number, bias: number, rest: number, mlp: number, sides: InBoth }} FlowNode */
/**
 * @typedef {{ depth: number, target: number, source: number, kind: EdgeKind, share: number, carried: string,
 *   sides: InBoth }} FlowEdge
 */
/** @typedef {FlowNode | FlowPlace | FlowEdge} Flowing what can be pointed at */
/**
 * What flow_graph/__init__.py sends.
 * @typedef {{ labels: string[], states: string[], threshold: number, title: string, bar: boolean, limit: number | null,
 *   presence: Presence[], places: number[], startable: boolean, prediction: string, kinds: EdgeKind[], carried: string[] }} FlowProps
 * @typedef {{ nodes: Ints, numbers: Floats, edges: Ints, shares: Floats, nodeSides: Floats, edgeSides: Floats }} FlowArrays
 */

/** @type {(what: Flowing) => what is FlowEdge} */
const isEdge = (what) => "target" in what;

const [MIN_COLUMN, MAX_COLUMN] = [24, 120]; // CSS pixels, of a position with a node
const MIN_EMPTY = 14; // of one without: the height of a line of text, unless that is more than half a column

class Graph {
  /** @param {FlowProps} props @param {FlowArrays} arrays */
  constructor({ labels, states, kinds, carried }, { nodes, numbers, edges, shares, nodeSides, edgeSides }) {
    /** @type {(sides: Floats, row: number) => InBoth} */
    const pair = (sides, row) => [sides.values[2 * row], sides.values[2 * row + 1]];
    this.top = states.length - 1;
    this.positions = labels.length;
    /** @type {FlowNode[]} */
    this.nodes = upTo(nodes.shape[0]).map((row) => {
      const [depth, position] = nodes.values.slice(2 * row);
      const [flow, bias, rest] = numbers.values.slice(3 * row);
      return { depth, position, flow, bias, rest, mlp: 0, sides: pair(nodeSides, row) };
    });
    this.byPlace = new Map(this.nodes.map((node) => [`${node.depth} ${node.position}`, node]));
    /** @type {FlowEdge[]} */
    this.edges = kinds.map((kind, row) => {
      const [depth, target, source] = edges.values.slice(3 * row);
      return { depth, target, source, kind, share: shares.values[row], carried: carried[row], sides: pair(edgeSides, row) };
    });
    for (const { kind, depth, target, share } of this.edges) {
      const node = this.node(depth, target);
      if (node && kind === "mlp") node.mlp = share;
    }
  }

  /** @param {number} depth @param {number} position */
  node(depth, position) {
    return this.byPlace.get(`${depth} ${position}`);
  }

  // Every position of the top row can be started from, whether or not the flow reaches it.
  /** @param {number} depth @param {number} position */
  has(depth, position) {
    return this.byPlace.has(`${depth} ${position}`) || (depth === this.top && position >= 0 && position < this.positions);
  }

  // Where each position's column begins, and where the last one ends: positions without a node are at most half as wide.
  /** @param {number} room */
  columns(room) {
    const taken = new Set(this.nodes.map(({ position }) => position));
    const empty = this.positions - taken.size;
    const wide = Math.floor(clamp((room - empty * MIN_EMPTY) / taken.size, MIN_COLUMN, MAX_COLUMN));
    const narrow = Math.floor(clamp((room - taken.size * wide) / empty, MIN_EMPTY, wide / 2));
    const begins = [0];
    for (const position of upTo(this.positions)) begins.push(begins[position] + (taken.has(position) ? wide : narrow));
    return begins;
  }

  // The edges from the smallest to the largest, so that these are drawn over those.
  get rising() {
    return [...this.edges].sort((one, other) => Math.abs(one.share) - Math.abs(other.share));
  }

  // The edges into a node, the largest first.
  /** @param {FlowPlace} node */
  into({ depth, position }) {
    const edges = this.edges.filter((edge) => edge.depth === depth && edge.target === position);
    return edges.sort((one, other) => Math.abs(other.share) - Math.abs(one.share));
  }

  /** @param {number} depth @param {number} target @param {number} source */
  edge(depth, target, source) {
    const isIt = (/** @type {FlowEdge} */ edge) => edge.kind === "attention" && edge.depth === depth && edge.target === target;
    return this.edges.find((edge) => isIt(edge) && edge.source === source);
  }

  // The nearest node of a depth, or undefined where it has none.
  /** @type {(depth: number, position: number) => FlowPlace | undefined} */
  nearest(depth, position) {
    const there = depth === this.top ? upTo(this.positions).map((at) => ({ depth, position: at })) : this.nodes;
    const distance = (/** @type {FlowPlace} */ node) => Math.abs(node.position - position);
    return there.filter((node) => node.depth === depth).sort((one, other) => distance(one) - distance(other))[0];
  }

  /** @type {(node: FlowPlace, step: number) => FlowPlace | undefined} */
  beside({ depth, position }, step) {
    for (let at = position + step; at >= 0 && at < this.positions; at += step) {
      if (this.has(depth, at)) return { depth, position: at };
    }
    return undefined;
  }
}

/** @type {(one: FlowEdge, other: Flowing | null) => boolean} */
const sameEdge = (one, other) =>
  other !== null && isEdge(other) && one.depth === other.depth && one.target === other.target &&
  one.source === other.source && one.kind === other.kind;
/** @type {(one: FlowPlace, other: Flowing | null) => boolean} */
const samePlace = (one, other) =>
  other !== null && !isEdge(other) && one.depth === other.depth && one.position === other.position;
