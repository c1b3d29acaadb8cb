// Rows of text and numbers, all of them on the page, so that it can be searched and printed.
const LONG = 30; // letters of a text that wants a wide column

const cellKind = (cell) => (typeof cell === "number" ? "number" : cell?.length > LONG ? "long" : "");

function cellText(cell) {
  if (cell === null) return "–";
  return typeof cell === "string" || Number.isInteger(cell) ? String(cell) : significant(cell);
}

class SortedTable {
  listeners = {};

  constructor(view) {
    this.view = view;
    this.heading = element("h3");
    this.head = new SortableHead((said) => this.sort(said));
    this.body = element("tbody");
    this.table = element("table");
    this.table.append(this.head.element, this.body);
    const scroller = element("div", "scroller");
    scroller.tabIndex = 0;
    scroller.append(this.table);
    view.root.append(this.heading, scroller);
  }

  update({ title, columns }) {
    this.heading.textContent = this.table.ariaLabel = title;
    this.head.show(columns);
    this.rows = columns[0].cells.map((_, row) => {
      const line = element("tr");
      line.append(...columns.map(({ cells }) => element("td", cellKind(cells[row]), cellText(cells[row]))));
      return line;
    });
  }

  // The column by which it falls at first, if there is one.
  setValue(falling) {
    if (falling !== null) this.head.sort(falling, "descending");
    this.arrange();
  }

  draw() {}

  sort(said) {
    this.arrange();
    this.view.announce(`${this.table.ariaLabel} ${said}`);
  }

  arrange() {
    this.body.replaceChildren(...this.head.places.map((place) => this.rows[place]));
  }
}

export default (component) => mountView(component, SortedTable);
