// The range of queries and keys that all panels show; never less than one cell.
const ZOOM_STEP = 1.6;

class Zoom {
  constructor(size) {
    this.size = size;
    this.reset();
  }

  reset() {
    this.shown = { query: [0, this.size], key: [0, this.size] };
  }

  get isWhole() {
    return Object.values(this.shown).every(([start, end]) => end - start === this.size);
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
    const length = Math.min(this.size, wanted);
    const first = Math.min(this.size - length, Math.max(0, start));
    this.shown[side] = [first, first + length];
  }

  get middle() {
    const middle = ([start, end]) => Math.floor((start + end - 1) / 2);
    return { query: middle(this.shown.query), key: middle(this.shown.key) };
  }

  get text() {
    const range = ([start, end]) => (end - start === 1 ? `${start}` : `${start}–${end - 1}`);
    return `queries ${range(this.shown.query)}, keys ${range(this.shown.key)}`;
  }
}
