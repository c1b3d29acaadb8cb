// Rows of text and numbers. A click on a column's name sorts by it, the next one the other way round; what is missing
// comes last either way.
const LONG = 30; // letters of a text that wants a wide column

const cellKind = (cell) => (typeof cell === "number" ? "number" : cell?.length > LONG ? "long" : "");

function cellText(cell) {
  if (cell === null) return "–";
  return typeof cell === "string" || Number.isInteger(cell) ? String(cell) : significant(cell);
}

const inOrder = (one, other) => (typeof one === "number" ? one - other : one.localeCompare(other));

class SortedTable {
  listeners = {};

  constructor(view) {
    this.view = view;
    this.heading = element("h3");
    this.table = element("table");
    this.head = element("thead");
    this.body = element("tbody");
    this.table.append(this.head, this.body);
    const scroller = element("div", "scroller");
    scroller.tabIndex = 0;
    scroller.append(this.table);
    view.root.append(this.heading, scroller);
  }

  update(props) {
    Object.assign(this, props);
    this.heading.textContent = this.title;
    this.table.ariaLabel = this.title;
    const names = element("tr");
    names.append(...this.columns.map(({ name }, place) => this.named(name, place)));
    this.head.replaceChildren(names);
    this.rows = this.columns[0].cells.map((_, row) => {
      const line = element("tr");
      line.append(...this.columns.map(({ cells }) => element("td", cellKind(cells[row]), cellText(cells[row]))));
      return line;
    });
  }

  named(name, place) {
    const cell = element("th");
    cell.scope = "col";
    const button = element("button", "", name);
    button.onclick = () => this.sort(place, this.by === place && !this.falling);
    cell.append(button);
    return cell;
  }

  setValue(value) {
    if (value) this.sort(...value);
    else this.body.replaceChildren(...this.rows);
  }

  draw() {}

  sort(place, falling) {
    Object.assign(this, { by: place, falling });
    const { name, cells } = this.columns[place];
    const known = [...cells.keys()].filter((row) => cells[row] !== null);
    known.sort((one, other) => (falling ? -1 : 1) * inOrder(cells[one], cells[other]));
    const missing = [...cells.keys()].filter((row) => cells[row] === null);
    this.body.replaceChildren(...[...known, ...missing].map((row) => this.rows[row]));
    const direction = falling ? "descending" : "ascending";
    for (const [column, cell] of [...this.head.rows[0].cells].entries()) {
      cell.ariaSort = column === place ? direction : "none";
    }
    this.view.announce(`${this.title} by ${name}, ${direction}`);
  }
}

export default (component) => mountView(component, SortedTable);
