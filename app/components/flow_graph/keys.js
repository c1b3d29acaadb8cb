// The keyboard in the graph: from node to node, through the edges into one, and the choice.
const FLOW_HELP =
  "Arrow keys move from node to node; Page Down goes through what flows into a node, the most first, and Page Up back; " +
  "Enter chooses, and on the top row starts from there; Escape chooses nothing.";

class FlowKeys {
  /** @param {FlowGraph} graph */
  constructor(graph) {
    this.graph = graph;
    graph.scroller.onkeydown = (event) => this.press(event);
    graph.scroller.onblur = () => graph.leave();
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    /** @type {Record<string, () => void>} */
    const moves = {
      ArrowUp: () => this.vertical(1),
      ArrowDown: () => this.vertical(-1),
      ArrowLeft: () => this.sideways(-1),
      ArrowRight: () => this.sideways(1),
      PageDown: () => this.through(1),
      PageUp: () => this.through(-1),
      Enter: () => this.enter(),
      " ": () => this.enter(),
      Escape: () => this.graph.choose([]),
    };
    if (!(event.key in moves)) return;
    event.preventDefault();
    moves[event.key]();
  }

  // Where the next key goes from: what is pointed at, what is chosen, or the start.
  /** @returns {FlowPlace} */
  get node() {
    const { pointed, chosen, data, start } = this.graph;
    const at = pointed ?? chosen;
    if (at === null) return { depth: data.top, position: start };
    return isEdge(at) ? { depth: at.depth, position: at.target } : at;
  }

  /** @param {number} step */
  vertical(step) {
    const { depth, position } = this.node;
    const first = this.graph.pointed === null && this.graph.chosen === null;
    this.go(first ? this.node : this.graph.data.nearest(depth + step, position));
  }

  /** @param {number} step */
  sideways(step) {
    this.go(this.graph.data.beside(this.node, step));
  }

  /** @param {number} step */
  through(step) {
    const { data, pointed, chosen } = this.graph;
    const edges = data.into(this.node);
    const place = edges.findIndex((edge) => sameEdge(edge, pointed ?? chosen));
    const next = place < 0 ? (step > 0 ? 0 : edges.length - 1) : place + step;
    this.go(edges[next] ?? this.node);
  }

  enter() {
    if (this.graph.pointed) this.graph.click(this.graph.pointed);
  }

  // A place on the way is told as the node that stands there.
  /** @param {Flowing | undefined} place */
  go(place) {
    if (!place) return;
    const what = isEdge(place) ? place : (this.graph.data.node(place.depth, place.position) ?? place);
    this.graph.reveal(isEdge(what) ? what.target : what.position);
    const [x, y] = this.graph.onScreen(what);
    this.graph.point(what, x, y);
    this.graph.say(what);
  }
}
