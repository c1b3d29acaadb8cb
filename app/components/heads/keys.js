// The keyboard in the panels: cells, panels and zoom.
const KEY_HELP =
  "Arrow keys, Home and End move the pinned cell, Page up and Page down go from panel to panel, plus and minus zoom, " +
  "0 shows everything, Escape shows everything or unpins.";

class HeadKeys {
  /** @param {Heads} heads */
  constructor(heads) {
    this.heads = heads;
    const showAll = () => heads.zoomTo((zoom) => zoom.reset());
    onKeys(heads.grid, {
      ...arrowKeys((down, right) => this.move(({ query, key }) => ({ query: query + down, key: key + right }))),
      Home: () => this.move(({ query }) => ({ query, key: 0 })),
      End: () => this.move(({ query }, last) => ({ query, key: last.key })),
      "Control+Home": () => this.move(() => ({ query: 0, key: 0 })),
      "Control+End": () => this.move((_, last) => last),
      PageUp: () => this.turn(-1),
      PageDown: () => this.turn(1),
      "+": () => heads.zoomStep(1),
      "=": () => heads.zoomStep(1),
      "-": () => heads.zoomStep(-1),
      0: showAll,
      Escape: () => (heads.zoom.isWhole ? this.unpin() : showAll()),
    });
    heads.grid.onblur = () => heads.view.tooltip.hide();
  }

  // `next` gives the next cell from the present one and the last one.
  /** @param {(cell: Cell, last: Cell) => Cell} next */
  move(next) {
    const { heads } = this;
    const last = { query: heads.sizes.query - 1, key: heads.sizes.key - 1 };
    const [top, left] = [heads.zoom.visible.query[0], heads.zoom.visible.key[0]];
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
