// A table that is sorted by its columns' names, and of which one row is chosen. Only the rows in sight are on the page, so
// that a thousand cost no more than ten.
/** @typedef {string | string[] | number | null} TableCell */
/**
 * @typedef {{ name: string, decimals: number | null, help: string, signed: boolean, after: string }} Look
 * @typedef {Look & { cells: TableCell[], isNumber: boolean }} TableColumn `Column` in row_table/__init__.py
 * @typedef {{ hasFonts: boolean, names: number[], cells: number[] }} TextWidths CSS pixels of names and longest cells
 * @typedef {{ title: string, columns: Look[], choosable: boolean, whole: boolean, inFile: boolean }} RowTableProps
 */
const LINE = 32; // CSS pixels of a row
const IN_SIGHT = 11; // rows, the last one half
const AROUND = 12; // rows above and below these, at least, for a scroll that is quicker than the drawing; in a file all
// CSS pixels of cells: of one that has the room which the other columns leave, of any beside it if that one is over twice as
// long, and of one that has such room where the columns do not fit, which is less then.
const LONG = 480;
const WIDEST = 290;
const LEAST_LONG = 150;
// CSS pixels beside their texts: the room around them, around one of several, the arrow behind a name, and the mark of a row
// that can be chosen.
const ROOM = { cell: 22, one: 17, arrow: 14, mark: 22 };
const MOVES_HELP = "Arrow keys, Page Up and Down, Home and End move";
const CHOICE_HELP = ", Enter chooses a row, Escape none";

// Of numbers in a column, which has one number of decimals: three digits of the largest, and none where all are whole.
/** @type {(numbers: number[]) => number} */
function decimalsOf(numbers) {
  if (numbers.every(Number.isInteger)) return 0;
  const largest = numbers.filter(Number.isFinite).reduce((most, number) => Math.max(most, Math.abs(number)), 0);
  return clamp(2 - Math.floor(Math.log10(largest)), 0, 6);
}

/** @implements {Component} */
class RowTable {
  /** @type {TableColumn[]} */
  columns = [];
  /** @type {number[]} */
  places = []; // in the list, in the order of the rows
  /** @type {number | null} */
  chosen = null; // a row's place in the list
  /** @type {number | null} */
  cursor = null; // the same of the row where the keyboard is
  top = 0; // how far it is scrolled
  first = 0; // of the rows on the page
  inSight = IN_SIGHT;
  around = AROUND;
  choosable = false;
  isPressed = false;
  /** @type {TextWidths | null} */
  measured = null; // of what is shown

  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.head = new SortableHead((order) => this.sort(order));
    this.widths = element("colgroup");
    this.body = element("tbody");
    this.table = element("table", "listed");
    this.table.append(this.widths, this.head.element, this.body);
    this.table.tabIndex = 0;
    this.table.setAttribute("role", "grid");
    this.sheet = element("div", "sheet");
    this.sheet.append(this.table);
    this.scroller = element("div", "scroller");
    this.scroller.style.setProperty("--row", `${LINE}px`);
    this.scroller.append(this.sheet);
    this.empty = element("p", "empty", "No rows.");
    view.root.append(this.scroller, this.empty);
    this.listen();
  }

  listen() {
    this.scroller.onscroll = () => {
      this.view.tooltip.hide();
      this.scroll();
    };
    const [top, bottom] = [-Infinity, Infinity].map((by) => () => this.move(by));
    const choose = () => this.cursor !== null && this.choose(this.cursor);
    onKeys(this.table, {
      ArrowUp: () => this.move(-1),
      ArrowDown: () => this.move(1),
      PageUp: () => this.move(1 - this.inSight),
      PageDown: () => this.move(this.inSight - 1),
      Home: top,
      End: bottom,
      "Control+Home": top,
      "Control+End": bottom,
      Enter: choose,
      " ": choose,
      Escape: () => this.chosen !== null && this.choose(this.chosen),
      m: () => this.openMenu(),
    });
    this.table.onfocus = () => this.markCursor(this.cursor ?? this.chosen ?? this.places[Math.ceil(this.top / LINE)]);
    this.body.onclick = (event) => this.click(event);
    this.body.onpointerdown = () => this.hold();
    this.table.onpointerover = (event) => this.hover(event);
    this.table.onpointermove = (event) => this.view.tooltip.move(event.clientX, event.clientY);
    this.table.onpointerleave = () => this.view.tooltip.hide();
  }

  /** @param {RowTableProps} props @param {Record<string, Bytes>} arrays */
  update({ title, columns, choosable, whole, inFile }, arrays) {
    this.around = inFile ? Infinity : AROUND;
    this.choosable = choosable;
    this.table.classList.toggle("choosable", choosable);
    this.columns = columns.map((column, place) => {
      /** @type {TableCell[]} */
      const cells = readJson(arrays[`cells${place}`].values);
      const numbers = cells.filter((cell) => typeof cell === "number");
      const isNumber = column.decimals !== null || numbers.length > 0;
      return { ...column, cells, isNumber, decimals: column.decimals ?? decimalsOf(numbers) };
    });
    const count = this.columns[0].cells.length;
    this.inSight = whole ? Math.max(1, count) : IN_SIGHT;
    this.scroller.style.setProperty("--lines", String(whole ? count + 1 : IN_SIGHT - 0.5));
    this.table.ariaLabel = `${title}. ${MOVES_HELP}${choosable ? CHOICE_HELP : ""}.`;
    this.table.ariaRowCount = String(count + 1);
    this.empty.hidden = count > 0;
    if (this.cursor !== null && this.cursor >= count) this.cursor = null;
    this.sheet.style.setProperty("--rows", String(count));
    this.measured = null;
    this.head.show(this.columns);
    this.places = this.head.places;
    this.columns.forEach(({ isNumber, help }, place) => {
      const cell = this.head.names.cells[place];
      cell.className = isNumber ? "number" : "";
      cell.children[0].className = help && "explained";
      cell.children[0].ariaDescription = help;
    });
  }

  // CSS pixels of each column's longest cell, measured once in a font, and of its name.
  /** @param {Theme} theme @returns {TextWidths} */
  measure({ sizes, font }) {
    const control = `${sizes.control}px ${font}`;
    /** @type {(text: string) => number} */
    const wide = (text) => probe.measureText(text).width;
    /** @type {(column: TableColumn, cell: TableCell) => number} */
    const cellWidth = (column, cell) => {
      if (Array.isArray(cell)) return cell.reduce((sum, text) => sum + wide(text) + ROOM.one, 0);
      const text = this.text(column, cell);
      return wide(column.isNumber ? text.replaceAll(/\d/g, "0") : text); // digits are all as wide as the widest
    };
    probe.font = `600 ${control}`;
    const names = this.columns.map(({ name }) => wide(name));
    probe.font = control;
    /** @type {(column: TableColumn) => number} */
    const longest = (column) => {
      const widths = column.cells.map((cell) => cellWidth(column, cell));
      return widths.reduce((most, width) => Math.max(most, width), 0);
    };
    return { hasFonts: PAGE.hasFonts, names, cells: this.columns.map(longest) };
  }

  // A column is as wide as its longest cell, and no wider as rows come into sight. All share the room that is left, but
  // where there are long texts their columns have it; on a phone shorter ones are long, so that the others stay in sight.
  /** @param {Theme} theme @param {number} room */
  draw(theme, room) {
    if (this.measured?.hasFonts !== PAGE.hasFonts) this.measured = this.measure(theme);
    const { names, cells } = this.measured;
    /** @type {(most: number, arrow: number) => number[]} */
    const widthsUpTo = (most, arrow) =>
      cells.map((cell, place) => {
        const mark = this.choosable && place === 0 ? ROOM.mark : 0;
        return mark + ROOM.cell + Math.min(most, Math.max(cell, names[place] + arrow));
      });
    /** @type {(widths: number[]) => number} */
    const total = (widths) => widths.reduce((sum, width) => sum + width, 0);
    const longest = Math.max(...cells);
    const arrow = total(widthsUpTo(LONG, ROOM.arrow)) > room ? 0 : ROOM.arrow; // not where it would cost a column
    const least = longest > LONG ? WIDEST : total(widthsUpTo(LONG, arrow)) > room ? LEAST_LONG : Infinity;
    const isRoomy = cells.map((width) => width > least && 2 * width >= longest);
    const shared = !isRoomy.includes(true);
    const widths = widthsUpTo(shared ? LONG : WIDEST, arrow);
    this.widths.replaceChildren(
      ...widths.map((width, place) => {
        const column = element("col");
        if (shared) column.style.width = `${(100 * width) / total(widths)}%`;
        else if (!isRoomy[place]) column.style.width = `${width}px`;
        return column;
      }),
    );
    this.table.style.setProperty("--roomy", `calc(${isRoomy.filter(Boolean).length} * ${longest > LONG ? "min(24ch, 55vw)" : `${LEAST_LONG}px`})`);
    this.table.style.setProperty("--others", `${total(widths.filter((_, place) => !isRoomy[place]))}px`);
    this.table.classList.toggle("pinned", !isRoomy[0]);
  }

  /** @param {number | null} chosen */
  setValue(chosen) {
    this.chosen = chosen !== null && chosen < this.places.length ? chosen : null;
    this.paint();
    if (this.chosen !== null) this.bringIntoSight(this.chosen);
  }

  /** @param {TableColumn} column @param {TableCell} cell */
  text({ decimals, signed, after }, cell) {
    if (typeof cell !== "number") return Array.isArray(cell) ? cell.join("  ") : shortLabel(cell ?? "–", 1);
    const digits = cell.toFixed(decimals ?? 0);
    const isLost = cell !== 0 && Number(digits) === 0; // a number that is not zero does not read as zero
    return `${signed && cell > 0 ? "+" : ""}${isLost ? inDigits(cell, 2) : withMinus(digits)}${after}`;
  }

  paint() {
    const first = this.firstAround();
    const visible = this.places.slice(first, first + this.inSight + 3 * this.around);
    this.table.style.marginTop = `${first * LINE}px`;
    this.body.replaceChildren(...visible.map((place, at) => this.row(place, first + at)));
    this.first = first;
    this.mark();
  }

  // A row that is taken out while it is pressed is not clicked: all stay until it is let go of.
  hold() {
    this.isPressed = true;
    const released = new AbortController();
    const letGo = () => {
      released.abort();
      setTimeout(() => {
        this.isPressed = false;
        this.scroll();
      }); // once it is clicked
    };
    for (const ended of ["pointerup", "pointercancel"]) addEventListener(ended, letGo, { signal: released.signal });
  }

  // Of the rows on the page. They stay for as many lines as are around those in sight.
  firstAround() {
    const inSight = Math.min(Math.floor(this.top / LINE), this.places.length - this.inSight);
    return Math.max(0, (Math.floor(inSight / this.around) - 1) * this.around);
  }

  /** @param {number} place @param {number} at */
  row(place, at) {
    const row = element("tr");
    row.id = `row-${place}`;
    row.ariaRowIndex = String(at + 2); // the names are the first
    row.append(...this.columns.map((column) => this.cell(column, column.cells[place])));
    return row;
  }

  /** @param {TableColumn} column @param {TableCell} value */
  cell(column, value) {
    const cell = element("td", column.isNumber ? "number" : "");
    if (typeof value === "string") cell.append(...withHeadButtons(this.text(column, value)));
    else if (Array.isArray(value)) cell.append(...value.map((text) => element("span", "one", text)));
    else cell.textContent = this.text(column, value);
    for (const button of cell.querySelectorAll("button")) button.tabIndex = -1; // the keyboard is at the row
    return cell;
  }

  mark() {
    [...this.body.rows].forEach((row, at) => {
      const place = this.places[this.first + at];
      row.ariaSelected = this.choosable ? String(place === this.chosen) : null;
      row.classList.toggle("cursor", place === this.cursor);
    });
  }

  scroll() {
    this.top = this.scroller.scrollTop;
    if (!this.isPressed && this.firstAround() !== this.first) this.paint();
  }

  /** @param {string} order */
  sort(order) {
    this.places = this.head.places;
    this.paint();
    this.view.announce(`sorted ${order}`);
  }

  // In the list, of the row that an event is in.
  /** @param {Event} event */
  placeOf(event) {
    return this.places[this.first + placeOf([...this.body.rows], event)];
  }

  /** @param {MouseEvent} event */
  click(event) {
    const place = this.placeOf(event);
    this.markCursor(place);
    this.choose(place);
    this.hover(event); // a finger points at nothing before
  }

  // The chosen row, chosen again, is so no more.
  /** @param {number} place */
  choose(place) {
    if (!this.choosable) return;
    this.chosen = place === this.chosen ? null : place;
    this.mark();
    this.view.report(this.chosen);
    this.view.announce(this.chosen === null ? "no row chosen" : this.spoken(place));
  }

  nameHeads() {
    this.paint();
  }

  // The menu of the heads that the row names where the keyboard is.
  openMenu() {
    if (this.cursor === null) return;
    const texts = this.columns.map(({ cells }) => cells[this.cursor ?? 0]).filter((cell) => typeof cell === "string");
    const row = this.body.querySelector("tr.cursor");
    const { left, bottom } = (row ?? this.table).getBoundingClientRect();
    openHeadMenu(headsIn(...texts), left, bottom);
  }

  /** @param {number} by */
  move(by) {
    if (this.places.length === 0) return;
    const before = this.cursor === null ? -1 : this.places.indexOf(this.cursor);
    const place = this.places[clamp(before + by, 0, this.places.length - 1)];
    this.bringIntoSight(place);
    this.markCursor(place);
    this.view.announce(this.spoken(place));
  }

  /** @param {number | null} place */
  markCursor(place = null) {
    this.cursor = place;
    this.mark();
    if (place !== null) this.table.setAttribute("aria-activedescendant", `row-${place}`);
  }

  // Scroll no further than the row asks for; the line of names covers the first one's room.
  /** @param {number} place */
  bringIntoSight(place) {
    const at = this.places.indexOf(place) * LINE;
    const visible = (this.inSight - 0.5) * LINE;
    this.scroller.scrollTop = clamp(this.top, at + LINE - visible, at);
    this.scroll();
  }

  /** @param {number} place */
  spoken(place) {
    const cells = this.columns.map((column) => `${column.name} ${this.text(column, column.cells[place])}`);
    const row = `row ${this.places.indexOf(place) + 1} of ${this.places.length}`;
    return [row, ...(place === this.chosen ? ["chosen"] : []), ...cells].join(", ");
  }

  // What explains a column, or the whole of a cell that is cut off.
  /** @param {MouseEvent} event */
  hover(event) {
    /** @type {HTMLTableCellElement | null} */
    const cell = targetOf(event).closest("th, td");
    if (!cell) return this.view.tooltip.hide();
    const column = this.columns[cell.cellIndex];
    const cutOff = cell.matches("td") && cell.scrollWidth > cell.clientWidth;
    const text = cell.matches("th") ? column.help : cutOff ? this.text(column, column.cells[this.placeOf(event)]) : "";
    if (!text) return this.view.tooltip.hide();
    this.view.tooltip.show(event.clientX, event.clientY, column.name, [["", text]]);
  }
}
