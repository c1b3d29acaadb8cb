// The range of queries and keys that all panels show; never less than one cell.
const ZOOM_STEP = 1.6;

class Zoom {
  // `sizes` says how many queries and keys there are.
  constructor(sizes) {
    this.sizes = sizes;
    this.reset();
  }

  reset() {
    this.shown = { query: [0, this.sizes.query], key: [0, this.sizes.key] };
  }

  isOf({ query, key }) {
    return this.sizes.query === query && this.sizes.key === key;
  }

  get isWhole() {
    return Object.entries(this.shown).every(([side, [start, end]]) => end - start === this.sizes[side]);
  }

  // From one cell to another, both included, in any order.
  between(one, other) {
    const range = (side) => [Math.min(one[side], other[side]), Math.max(one[side], other[side]) + 1];
    this.shown = { query: range("query"), key: range("key") };
  }

  // In (direction 1) or out (-1), with this cell staying where it is.
  step(direction, cell) {
    for (const side of ["query", "key"]) {
      const [start, end] = this.shown[side];
      const length = end - start;
      const wanted = direction > 0 ? Math.floor(length / ZOOM_STEP) : Math.ceil(length * ZOOM_STEP);
      const share = (cell[side] + 0.5 - start) / length;
      this.place(side, Math.round(cell[side] + 0.5 - share * wanted), Math.max(1, wanted));
    }
  }

  // Moves the range until it holds the cell.
  include(cell) {
    for (const side of ["query", "key"]) {
      const [start, end] = this.shown[side];
      this.place(side, Math.min(cell[side], Math.max(start, cell[side] + 1 - (end - start))), end - start);
    }
  }

  place(side, start, wanted) {
    const length = Math.min(this.sizes[side], wanted);
    const first = Math.min(this.sizes[side] - length, Math.max(0, start));
    this.shown[side] = [first, first + length];
  }

  get middle() {
    const middle = ([start, end]) => Math.floor((start + end - 1) / 2);
    return { query: middle(this.shown.query), key: middle(this.shown.key) };
  }

  // As long as `text` can become.
  get longestText() {
    const [query, key] = [this.sizes.query - 1, this.sizes.key - 1];
    return `queries ${query}–${query}, keys ${key}–${key}`;
  }

  get text() {
    const range = ([start, end]) => (end - start === 1 ? `${start}` : `${start}–${end - 1}`);
    return `queries ${range(this.shown.query)}, keys ${range(this.shown.key)}`;
  }
}
