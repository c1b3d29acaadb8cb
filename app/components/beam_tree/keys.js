// The keyboard in the tree: from node to node, and the choice.
const TREE_HELP =
  "Arrow keys move to the token before, the best one after, and those of the same step; Home and End go to the ends of " +
  "the branch; Enter chooses; Escape chooses nothing.";

class TreeKeys {
  /** @type {BeamIndex} */
  cursor = null;

  /** @param {BeamTree} tree */
  constructor(tree) {
    this.tree = tree;
    const give = () => this.cursor !== null && this.give(this.cursor);
    onKeys(tree.box, {
      ArrowLeft: () => this.move((node) => tree.props.parents[node]),
      ArrowRight: () => this.move((node) => tree.children[node][0]),
      ArrowUp: () => this.move((node) => this.beside(node, -1)),
      ArrowDown: () => this.move((node) => this.beside(node, 1)),
      Home: () => this.move((node) => tree.branch(node).at(-1)),
      End: () => this.move((node) => this.leaf(node)),
      Enter: give,
      " ": give,
      Escape: () => this.give(null),
    });
  }

  // In the column of a node's step.
  /** @param {number} node @param {number} direction */
  beside(node, direction) {
    const column = this.tree.layout.columns[this.tree.props.steps[node] - 1];
    return column[column.indexOf(node) + direction];
  }

  // The end of the best branch from a node.
  /** @param {number} node @returns {number} */
  leaf(node) {
    const [best] = this.tree.children[node];
    return best === undefined ? node : this.leaf(best);
  }

  // The first key goes to the chosen node, or to the best of the first step.
  /** @param {(node: number) => number | null | undefined} next */
  move(next) {
    const { tree, cursor } = this;
    const node = cursor === null ? (tree.chosen ?? tree.first[0]) : (next(cursor) ?? cursor);
    if (node === undefined) return;
    this.put(node);
    tree.reveal(node);
    this.show(node);
  }

  /** @param {number} node */
  put(node) {
    const { tree } = this;
    this.cursor = node;
    tree.box.setAttribute("aria-activedescendant", tree.chips[node].id);
    tree.chips.forEach((chip, index) => chip.classList.toggle("cursor", index === node));
    tree.view.announce(...tree.tooltipText(node));
  }

  /** @param {number} node */
  show(node) {
    this.tree.view.tooltip.showBeside(this.tree.chips[node], ...this.tree.tooltipText(node));
  }

  // Chooses a node; null gives up the one that is chosen.
  /** @param {BeamIndex} node */
  give(node) {
    const { tree } = this;
    const wanted = node ?? tree.chosen;
    if (wanted === null) return;
    tree.choose(wanted);
    this.put(wanted);
    this.show(wanted);
  }
}
