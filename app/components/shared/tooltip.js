// One tooltip a component, on a pane of its own in the browser's top layer: nothing on the page clips it, and what it tells
// is laid out without the page.
const TOOLTIP_OFFSET = 14;

/** @typedef {[name: string, value: string, share?: number]} TooltipRow */
/** @typedef {[title: string, rows: TooltipRow[]]} TooltipText */

const MAX_WHOLE = 12; // letters of a value that stays in one line, as a number does beside a long name

class Tooltip {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.pane = element("div", "tooltip");
    this.pane.popover = "manual";
    this.box = element("div", "box");
    this.pane.append(this.box);
    root.append(this.pane);
    this.hide = this.hide.bind(this);
  }

  // `rows` are [name, value], or [token, value, share] with a bar of that share; `picture` is an element or null.
  /** @type {(x: number, y: number, title: string, rows: TooltipRow[], picture?: HTMLElement | null) => void} */
  show(x, y, title, rows, picture) {
    const table = element("dl");
    for (const [name, value, share] of rows) {
      const cell = element("dd", share === undefined ? "" : "share", value);
      cell.classList.toggle("whole", value.length <= MAX_WHOLE);
      if (share !== undefined) cell.style.setProperty("--share", `${100 * share}%`);
      table.append(element("dt", share === undefined ? "" : "token", name), cell);
    }
    this.box.replaceChildren(element("strong", "", title), table, ...(picture ? [picture] : []));
    if (!this.pane.matches(":popover-open")) this.pane.showPopover();
    document.addEventListener("pointerdown", this.hide, true); // a finger does not leave, it touches something else
    this.move(x, y);
  }

  // At an element's corner, for a reader who uses the keyboard.
  /** @param {Element} anchor @param {string} title @param {TooltipRow[]} rows */
  showBeside(anchor, title, rows) {
    const { right, bottom } = anchor.getBoundingClientRect();
    this.show(right, bottom, title, rows);
  }

  // Has it follow the pointer over a list, and tell what there is to say of each of its `parts`. Returns what tells it at
  // an event.
  /** @type {(list: HTMLElement, parts: () => HTMLElement[], textOf: (place: number) => TooltipText) => (event: MouseEvent) => void} */
  follow(list, parts, textOf) {
    const tell = (/** @type {MouseEvent} */ event) => {
      const place = placeOf(parts(), event);
      if (place < 0) this.hide();
      else this.show(event.clientX, event.clientY, ...textOf(place));
    };
    list.onpointerover = tell;
    list.onpointermove = (event) => this.move(event.clientX, event.clientY);
    list.onpointerleave = list.onblur = this.hide;
    return tell;
  }

  // Beside the point, on whichever side there is room.
  /** @param {number} x @param {number} y */
  move(x, y) {
    const { width, height } = this.box.getBoundingClientRect();
    /** @type {(at: number, size: number, room: number) => number} */
    const place = (at, size, room) => {
      const after = at + TOOLTIP_OFFSET;
      return after + size < room ? after : Math.max(4, at - TOOLTIP_OFFSET - size);
    };
    this.box.style.translate = `${place(x, width, innerWidth)}px ${place(y, height, innerHeight)}px`;
  }

  hide() {
    if (this.pane.matches(":popover-open")) this.pane.hidePopover();
    document.removeEventListener("pointerdown", this.hide, true);
  }
}
