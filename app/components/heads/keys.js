// The keyboard in the panels: cells, panels and zoom.
const KEY_HELP =
  "Arrow keys, Home and End move the pinned cell, Page up and Page down go from panel to panel, plus and minus zoom, " +
  "0 shows everything, Escape shows everything or unpins.";

// Each gives the next cell from the present one and the last one.
/** @typedef {(cell: Cell, last: Cell) => Cell} CellMove */
/** @type {Record<string, CellMove>} */
const CELL_MOVES = {
  ArrowUp: ({ query, key }) => ({ query: query - 1, key }),
  ArrowDown: ({ query, key }) => ({ query: query + 1, key }),
  ArrowLeft: ({ query, key }) => ({ query, key: key - 1 }),
  ArrowRight: ({ query, key }) => ({ query, key: key + 1 }),
  Home: ({ query }) => ({ query, key: 0 }),
  End: ({ query }, last) => ({ query, key: last.key }),
};
/** @type {Record<string, CellMove>} */
const CORNERS = { Home: () => ({ query: 0, key: 0 }), End: (_, last) => last };

class HeadKeys {
  /** @param {Heads} heads */
  constructor(heads) {
    this.heads = heads;
    heads.grid.onkeydown = (event) => this.press(event);
    heads.grid.onblur = () => heads.view.tooltip.hide();
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    const { heads } = this;
    const { key } = event;
    const moves = event.ctrlKey && key in CORNERS ? CORNERS : CELL_MOVES;
    if (key in moves) this.move(moves[key]);
    else if (event.ctrlKey || event.metaKey) return;
    else if (key === "PageUp" || key === "PageDown") this.turn(key === "PageUp" ? -1 : 1);
    else if (key === "+" || key === "=") heads.zoomStep(1);
    else if (key === "-") heads.zoomStep(-1);
    else if (key === "0" || (key === "Escape" && !heads.zoom.isWhole)) heads.zoomTo((zoom) => zoom.reset());
    else if (key === "Escape") this.unpin();
    else return;
    event.preventDefault();
  }

  /** @param {CellMove} next */
  move(next) {
    const { heads } = this;
    const last = { query: heads.sizes.query - 1, key: heads.sizes.key - 1 };
    const [top, left] = [heads.zoom.shown.query[0], heads.zoom.shown.key[0]];
    const from = heads.cursor;
    const { query, key } = from ? next(from, last) : { query: top, key: left };
    const cell = { query: clamp(query, 0, last.query), key: clamp(key, 0, last.key) };
    heads.show(cell);
    heads.pin({ queries: [cell.query], keys: [cell.key] }, true, HELD_KEY_DELAY);
    this.say();
  }

  /** @param {number} step */
  turn(step) {
    const { heads } = this;
    heads.activate(Math.min(heads.panels.length - 1, Math.max(0, heads.active + step)));
    this.say();
  }

  unpin() {
    this.heads.pin(null);
    this.say();
  }

  // In the live text and, for those who see, beside the cell.
  say() {
    const { heads } = this;
    heads.speak();
    const panel = heads.panels[heads.active];
    const { cursor } = heads;
    if (!panel || !cursor) return heads.view.tooltip.hide();
    heads.view.tooltip.show(...panel.pointOf(cursor), panel.title, panel.describe(cursor));
  }
}
