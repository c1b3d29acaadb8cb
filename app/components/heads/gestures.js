// What a pointer does over a panel: hover, click, and with a mouse drag a rectangle. Fingers scroll the page.
const DRAG_START = 5; // CSS pixels

/** @typedef {{ x: number, y: number, cell: Cell }} Pressed */

class Gestures {
  /** @type {Pressed | null} */
  from = null; // where the button went down
  /** @type {Cell | null} */
  to = null;
  dragged = false;

  /** @param {Panel} panel */
  constructor(panel) {
    this.panel = panel;
    this.rubber = element("div", "rubber");
    this.rubber.hidden = true;
    panel.plot.append(this.rubber);
    const canvas = panel.marks;
    canvas.onpointerdown = (event) => this.press(event);
    canvas.onpointermove = (event) => this.move(event);
    canvas.onpointerup = () => this.release();
    canvas.onpointercancel = () => this.end();
    canvas.onpointerleave = () => this.panel.owner.leave();
    canvas.onclick = (/** @type {PointerEvent} */ event) => this.click(event);
    canvas.ondblclick = () => this.panel.owner.doubleClick();
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
  }

  /** @param {PointerEvent} event */
  press(event) {
    this.dragged = false;
    const cell = this.panel.cellAt(event);
    const drags = event.pointerType === "mouse" && event.button === 0;
    if (drags && cell) this.from = { x: event.clientX, y: event.clientY, cell };
  }

  /** @param {PointerEvent} event */
  move(event) {
    const far = this.from && Math.hypot(event.clientX - this.from.x, event.clientY - this.from.y) > DRAG_START;
    if (far && !this.dragged) {
      this.dragged = true;
      this.panel.marks.setPointerCapture(event.pointerId);
      this.panel.owner.leave();
    }
    if (this.dragged && this.from) this.stretch(this.from.cell, this.nearest(event));
    else this.hover(event);
  }

  // The cell nearest to the pointer, which may have left the matrix.
  /** @param {PointerEvent} event */
  nearest(event) {
    const frame = this.panel.plot.getBoundingClientRect();
    const { left, top, width, height } = this.panel.matrix;
    const [x, y] = [frame.left + left, frame.top + top];
    return this.panel.cellAt({
      clientX: clamp(event.clientX, x + 0.5, x + width - 0.5),
      clientY: clamp(event.clientY, y + 0.5, y + height - 0.5),
    });
  }

  /** @param {Cell} from @param {Cell | null} to */
  stretch(from, to) {
    if (!to) return;
    this.to = to;
    const { matrix } = this.panel;
    /** @type {(side: Side) => [number, number]} */
    const extent = (side) => {
      const span = axisSpan(matrix, side);
      const ends = [from[side], to[side]];
      return [span.at(Math.min(...ends)), span.at(Math.max(...ends) + 1)];
    };
    const [top, bottom] = extent("query");
    const [left, right] = extent("key");
    const box = { left: matrix.left + left, top: matrix.top + top, width: right - left, height: bottom - top };
    for (const [name, length] of Object.entries(box)) this.rubber.style.setProperty(name, `${length}px`);
    this.rubber.hidden = false;
  }

  release() {
    const { from, to } = this;
    if (this.dragged && from && to) this.panel.owner.zoomTo((zoom) => zoom.between(from.cell, to));
    this.end();
  }

  end() {
    this.from = null;
    this.rubber.hidden = true;
  }

  /** @param {MouseEvent} event */
  hover(event) {
    const cell = this.panel.cellAt(event);
    if (cell) this.panel.owner.hover(this.panel, cell, event.clientX, event.clientY);
    else this.panel.owner.leave();
  }

  /** @param {PointerEvent} event */
  click(event) {
    const cell = this.panel.cellAt(event);
    if (this.dragged || !cell) return;
    this.panel.owner.click(this.panel, cell, event.detail);
    this.hover(event);
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    const cell = this.panel.cellAt(event);
    if (!event.ctrlKey || !cell) return;
    event.preventDefault();
    this.panel.owner.zoomTo((zoom) => zoom.step(-Math.sign(event.deltaY), cell));
  }
}
