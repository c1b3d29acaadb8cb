// The keyboard in the tree: from node to node, and the choice.
const TREE_HELP =
  "Arrow keys move to the token before, the best one after, and those of the same step; Home and End go to the ends of " +
  "the branch; Enter chooses; Escape chooses nothing.";

// Each gives the next node from the present one, or undefined where there is none.
/** @type {Record<string, (tree: BeamTree, node: number) => number | undefined>} */
const TREE_MOVES = {
  ArrowLeft: (tree, node) => tree.parents[node] ?? undefined,
  ArrowRight: (tree, node) => tree.children[node][0],
  ArrowUp: (tree, node) => beside(tree, node, -1),
  ArrowDown: (tree, node) => beside(tree, node, 1),
  Home: (tree, node) => tree.branch(node).at(-1),
  End: (tree, node) => {
    let leaf = node;
    while (tree.children[leaf].length > 0) [leaf] = tree.children[leaf];
    return leaf;
  },
};

/** @type {(tree: BeamTree, node: number, direction: number) => number | undefined} */
function beside(tree, node, direction) {
  const column = tree.layout.columns[tree.steps[node] - 1];
  return column[column.indexOf(node) + direction];
}

class TreeKeys {
  /** @type {BeamIndex} */
  cursor = null;

  /** @param {BeamTree} tree */
  constructor(tree) {
    this.tree = tree;
    tree.box.onkeydown = (event) => this.press(event);
    tree.box.onblur = () => tree.view.tooltip.hide();
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    const { cursor } = this;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in TREE_MOVES) this.move(TREE_MOVES[event.key]);
    else if (event.key === "Escape") this.give(null);
    else if ((event.key === "Enter" || event.key === " ") && cursor !== null) this.give(cursor);
    else return;
    event.preventDefault();
  }

  // The first key goes to the chosen node, or to the best of the first step.
  /** @param {(tree: BeamTree, node: number) => number | undefined} next */
  move(next) {
    const { tree, cursor } = this;
    const node = cursor === null ? (tree.chosen ?? tree.first[0]) : (next(tree, cursor) ?? cursor);
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
    tree.view.announce([tree.labels[node], ...tree.rows(node).flat()].join(" "));
  }

  /** @param {number} node */
  show(node) {
    const { tree } = this;
    const { right, bottom } = tree.chips[node].getBoundingClientRect();
    tree.view.tooltip.show(right, bottom, tree.labels[node], tree.rows(node));
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
