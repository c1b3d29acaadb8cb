// The keyboard in the graph: from node to node, through the edges into one, and the choice.
const FLOW_HELP =
  "Arrow keys move from node to node; Page Down goes through what flows into a node, the most first, and Page Up back; " +
  "Enter chooses, and on the top row starts from there; Escape chooses nothing; m opens the menu of the heads into it.";

class FlowKeys {
  /** @param {FlowGraph} graph */
  constructor(graph) {
    this.graph = graph;
    const enter = () => graph.pointed && graph.click(graph.pointed);
    onKeys(graph.scroller, {
      ...arrowKeys((down, right) => (down ? this.vertical(-down) : this.sideways(right))),
      PageDown: () => this.through(1),
      PageUp: () => this.through(-1),
      Enter: enter,
      " ": enter,
      m: () => graph.openMenu(),
      Escape: () => graph.choose([]),
    });
    graph.scroller.onblur = () => graph.leave();
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
