// The order of a table's rows, and the line of its columns' names that changes it.
/** @typedef {"none" | "ascending" | "descending"} Order */

const collator = new Intl.Collator();
/** @type {Record<Order, Order>} */
const NEXT_ORDER = { none: "ascending", ascending: "descending", descending: "none" };

/** @type {(one: TableCell, other: TableCell) => number} */
const inOrder = (one, other) =>
  typeof one === "number" && typeof other === "number" ? one - other : collator.compare(String(one), String(other));

// Where the cells stand in the list, in that order; what is missing comes last either way.
/** @type {(cells: TableCell[], order: Order) => number[]} */
function sortedPlaces(cells, order) {
  const places = [...cells.keys()];
  if (order === "none") return places;
  const sign = order === "descending" ? -1 : 1;
  const known = places.filter((place) => cells[place] !== null);
  known.sort((one, other) => sign * inOrder(cells[one], cells[other]));
  return [...known, ...places.filter((place) => cells[place] === null)];
}

// A click on a column's name sorts by it, the next one the other way round, the third gives the list's own order again.
// An order that the user chose stays while the columns have the same names.
class SortableHead {
  by = 0;
  /** @type {Order} */
  order = "none";
  /** @type {TableColumn[]} */
  columns = [];

  // `sorted` is called when the user has chosen another order, with its description for screen readers.
  /** @param {(order: string) => void} sorted */
  constructor(sorted) {
    this.sorted = sorted;
    this.names = element("tr");
    this.element = element("thead");
    this.element.append(this.names);
  }

  /** @param {TableColumn[]} columns */
  show(columns) {
    const same = columns.map(({ name }) => name).join("\0") === this.columns.map(({ name }) => name).join("\0");
    this.columns = columns;
    if (same) return;
    this.names.replaceChildren(...columns.map(({ name }, place) => this.named(name, place)));
    this.sort(0, "none");
  }

  /** @param {string} name @param {number} place */
  named(name, place) {
    const cell = element("th");
    cell.scope = "col";
    cell.append(buttonOf(name, () => this.press(place)));
    return cell;
  }

  /** @param {number} place */
  press(place) {
    this.sort(place, NEXT_ORDER[this.by === place ? this.order : "none"]);
    const { name } = this.columns[place];
    this.sorted(this.order === "none" ? "in the list's own order" : `by ${name}, ${this.order}`);
  }

  /** @param {number} place @param {Order} order */
  sort(place, order) {
    Object.assign(this, { by: place, order });
    [...this.names.cells].forEach((cell, column) => (cell.ariaSort = column === place ? order : "none"));
  }

  get places() {
    return sortedPlaces(this.columns[this.by].cells, this.order);
  }
}
