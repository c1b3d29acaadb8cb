// Where the nodes of the tree stand; CSS pixels.
const NODE_WIDTH = 112;
const NODE_HEIGHT = 38;
const NODE_ACROSS = 150; // from one step to the next
const NODE_DOWN = 45;
const LINE_ROOM = NODE_ACROSS - NODE_WIDTH; // before each step, and before the first for the start
const STEPS_HEIGHT = 22;
const TREE_MARGIN = 8;

// A column a step: children beside their parent, in the order of the parents, so that no two lines cross. `columns` are
// indices of nodes from top to bottom.
class TreeLayout {
  /** @type {number[][]} */
  columns;
  /** @type {number[]} */
  rows = []; // of each node

  /** @param {Pick<TreeProps, "parents" | "steps">} nodes */
  constructor({ parents, steps }) {
    this.columns = upTo(steps.reduce((most, step) => Math.max(most, step), 0)).map(() => []);
    steps.forEach((step, index) => this.columns[step - 1].push(index));
    this.count = this.columns.reduce((most, column) => Math.max(most, column.length), 1);
    this.startRow = (this.count - 1) / 2;
    const beside = (/** @type {number} */ index) => this.rowOf(parents[index]);
    for (const column of this.columns) {
      column.sort((one, other) => beside(one) - beside(other) || one - other);
      const wanted = column.map((index) => beside(index));
      apart(wanted, this.count).forEach((row, place) => (this.rows[column[place]] = row));
    }
    this.steps = steps;
  }

  get width() {
    return this.columns.length * NODE_ACROSS + TREE_MARGIN;
  }

  get height() {
    return STEPS_HEIGHT + (this.count - 1) * NODE_DOWN + NODE_HEIGHT + 2 * TREE_MARGIN;
  }

  /** @param {number} index */
  left(index) {
    return this.leftOf(this.steps[index]);
  }

  /** @param {number} step */
  leftOf(step) {
    return LINE_ROOM + (step - 1) * NODE_ACROSS;
  }

  /** @param {number} index */
  top(index) {
    return this.topOf(this.rows[index]);
  }

  /** @param {number} row */
  topOf(row) {
    return STEPS_HEIGHT + TREE_MARGIN + row * NODE_DOWN;
  }

  // Of null, the start's.
  /** @param {BeamIndex} index */
  rowOf(index) {
    return index === null ? this.startRow : this.rows[index];
  }

  // The height at which the lines from and to a node meet it; of null, those from the start.
  /** @param {BeamIndex} index */
  middle(index) {
    return this.topOf(this.rowOf(index)) + NODE_HEIGHT / 2;
  }
}

// The rows nearest to those wanted, in the mean of squares, that are at least one apart and all within `count`. Rows that
// want to be closer are pooled and stand around the mean of their wishes.
// Source: the pool-adjacent-violators algorithm; Barlow, Bartholomew, Bremner and Brunk 1972, chapter 1.
/** @type {(wanted: number[], count: number) => number[]} */
function apart(wanted, count) {
  /** @typedef {{ sum: number, rows: number }} Pool */
  const mean = (/** @type {Pool} */ { sum, rows }) => sum / rows;
  /** @type {Pool[]} */
  const pools = [];
  wanted.forEach((row, place) => {
    let pool = { sum: row - place, rows: 1 };
    let before = pools.at(-1);
    while (before && mean(before) > mean(pool)) {
      pools.pop();
      pool = { sum: before.sum + pool.sum, rows: before.rows + pool.rows };
      before = pools.at(-1);
    }
    pools.push(pool);
  });
  const within = (/** @type {number} */ row) => Math.min(count - wanted.length, Math.max(0, row));
  return pools.flatMap((pool) => Array(pool.rows).fill(within(mean(pool)))).map((row, place) => row + place);
}
