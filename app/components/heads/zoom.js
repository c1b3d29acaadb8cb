// The range of queries and keys that all panels show; never less than one cell.
const ZOOM_STEP = 1.6;

/** @typedef {[start: number, end: number]} Extent the end is one past the last */
/** @type {Side[]} */
const BOTH_SIDES = ["query", "key"];

class Zoom {
  /** @type {Record<Side, Extent>} */
  visible;

  // `sizes` says how many queries and keys there are.
  /** @param {Sizes} sizes @param {Axes} axes */
  constructor(sizes, axes) {
    this.sizes = sizes;
    this.axes = axes;
    this.reset();
  }

  reset() {
    this.visible = { query: [0, this.sizes.query], key: [0, this.sizes.key] };
  }

  /** @param {Sizes} sizes */
  isOf({ query, key }) {
    return this.sizes.query === query && this.sizes.key === key;
  }

  get isWhole() {
    return BOTH_SIDES.every((side) => this.visible[side][1] - this.visible[side][0] === this.sizes[side]);
  }

  /** @param {Cell} cell */
  has(cell) {
    return BOTH_SIDES.every((side) => cell[side] >= this.visible[side][0] && cell[side] < this.visible[side][1]);
  }

  // From one cell to another, both included, in any order.
  /** @param {Cell} one @param {Cell} other */
  between(one, other) {
    /** @type {(side: Side) => Extent} */
    const range = (side) => [Math.min(one[side], other[side]), Math.max(one[side], other[side]) + 1];
    this.visible = { query: range("query"), key: range("key") };
  }

  // In (direction 1) or out (-1), with this cell staying where it is.
  /** @param {number} direction @param {Cell} cell */
  step(direction, cell) {
    for (const side of BOTH_SIDES) {
      const [start, end] = this.visible[side];
      const length = end - start;
      const wanted = direction > 0 ? Math.floor(length / ZOOM_STEP) : Math.ceil(length * ZOOM_STEP);
      const share = (cell[side] + 0.5 - start) / length;
      this.place(side, Math.round(cell[side] + 0.5 - share * wanted), Math.max(1, wanted));
    }
  }

  // Moves the range until it holds the cell.
  /** @param {Cell} cell */
  include(cell) {
    for (const side of BOTH_SIDES) {
      const [start, end] = this.visible[side];
      this.place(side, clamp(start, cell[side] + 1 - (end - start), cell[side]), end - start);
    }
  }

  /** @param {Side} side @param {number} start @param {number} wanted */
  place(side, start, wanted) {
    const length = Math.min(this.sizes[side], wanted);
    const first = clamp(start, 0, this.sizes[side] - length);
    this.visible[side] = [first, first + length];
  }

  get middle() {
    const middle = (/** @type {Extent} */ [start, end]) => Math.floor((start + end - 1) / 2);
    return { query: middle(this.visible.query), key: middle(this.visible.key) };
  }

  // As long as `text` can become.
  get longestText() {
    const [query, key] = BOTH_SIDES.map((side) => numberAt(this.axes[side], this.sizes[side]) - 1);
    return `queries ${query}–${query}, keys ${key}–${key}`;
  }

  get text() {
    const [query, key] = BOTH_SIDES.map((side) => {
      const [start, end] = this.visible[side];
      return numbersText(this.axes[side], start, end - 1);
    });
    return `queries ${query}, keys ${key}`;
  }
}
