// All heads as thumbnails on one canvas. Frames, badges and labels are elements over it: a hover redraws nothing.
const LARGEST_PITCH = 144; // CSS pixels from one thumbnail to the next
const SMALL_PITCH = 40;
const SMALLEST_PITCH = 24;
const TALLEST = 2600;
const ROW_LABEL_WIDTH = 34;
const MAGNIFIED = 168;
const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

class HeadGrid {
  listeners = { head: (head) => this.place(this.linkedFrame, head) };
  cursor = [0, 0];
  clock = 0;

  constructor(view) {
    this.view = view;
    this.legend = element("div", "legend");
    this.sheet = element("div", "sheet");
    this.heads = element("div", "heads");
    this.layers = element("div", "layers");
    this.board = element("div", "board");
    this.canvas = element("canvas");
    this.frames = element("div", "frames");
    this.hoverFrame = element("div", "frame hover");
    this.linkedFrame = element("div", "frame hover");
    this.hoverFrame.hidden = this.linkedFrame.hidden = true;
    this.board.append(this.canvas, this.frames, this.linkedFrame, this.hoverFrame);
    this.sheet.append(element("div", "corner"), this.heads, this.layers, this.board);
    const scroller = element("div", "scroller");
    scroller.append(this.sheet);
    view.root.append(this.legend, scroller);
    this.board.tabIndex = 0;
    this.board.setAttribute("role", "application");
    this.board.setAttribute("aria-roledescription", "grid of attention heads");
    this.listen();
  }

  listen() {
    this.board.onpointermove = (event) => this.hover(this.headUnder(event), event.clientX, event.clientY);
    this.board.onpointerleave = () => this.leave();
    this.board.onclick = (event) => {
      const head = this.headUnder(event);
      if (head) this.toggle(head);
      this.hovered = null;
      this.hover(head, event.clientX, event.clientY);
    };
    this.board.onkeydown = (event) => this.press(event);
    this.board.onblur = () => this.leave();
  }

  update({ captions, maxSelected }, { thumbnails }) {
    [this.layerCount, this.headCount, this.rows, this.columns] = thumbnails.shape;
    this.codes = thumbnails.values.map((code) => (code + 1) & 255); // as matrix.js wants them: 0 is masked, 1 is zero
    this.masked = this.codes.includes(MASKED);
    this.captions = captions;
    this.maxSelected = maxSelected;
    const size = `${this.layerCount} layers by ${this.headCount} heads`;
    this.board.ariaLabel = `${size}. Arrow keys move, Enter selects up to ${maxSelected}.`;
  }

  setValue(selected) {
    this.selected = selected.filter(([layer, head]) => layer < this.layerCount && head < this.headCount);
    this.since = new Map(this.selected.map((head) => [headName(head), this.clock++]));
    this.drawFrames();
  }

  draw(theme, width) {
    const tallest = Math.max(SMALLEST_PITCH, TALLEST / this.layerCount);
    const widest = (width - ROW_LABEL_WIDTH) / this.headCount;
    const room = Math.max(SMALLEST_PITCH, Math.min(LARGEST_PITCH, tallest, widest));
    this.gap = 2 * Math.round((Math.min(10, Math.max(4, 0.09 * room)) * devicePixelRatio) / 2);
    const side = Math.floor(room * devicePixelRatio) - this.gap;
    this.thumbnail = { width: crispSize(this.columns, side), height: crispSize(this.rows, side) };
    this.devicePitch = Math.max(this.thumbnail.width, this.thumbnail.height) + this.gap;
    this.pitch = this.devicePitch / devicePixelRatio;
    this.board.classList.toggle("small", this.pitch < SMALL_PITCH);
    const packed = theme.map.map(packedColour);
    this.colours = Uint32Array.from({ length: 256 }, (_, code) => colourAt(packed, (code - 1) / 254));
    this.hatch = hatching(theme);
    drawWeightLegend(this.legend, theme, "sqrt", this.masked);
    this.drawLabels();
    this.drawThumbnails(theme);
    this.drawFrames();
  }

  drawLabels() {
    const labels = (letter, side, length) =>
      Array.from({ length }, (_, index) => {
        const label = element("span", "", `${letter}${index}`);
        label.style[side] = `${(index + 0.5) * this.pitch}px`;
        return label;
      });
    this.heads.replaceChildren(...labels("H", "left", this.headCount));
    this.layers.replaceChildren(...labels("L", "top", this.layerCount));
  }

  drawThumbnails(theme) {
    this.canvas.width = this.headCount * this.devicePitch;
    this.canvas.height = this.layerCount * this.devicePitch;
    this.canvas.style.width = `${this.headCount * this.pitch}px`;
    this.canvas.style.height = `${this.layerCount * this.pitch}px`;
    const { width, height } = this.thumbnail;
    const context = this.canvas.getContext("2d");
    context.fillStyle = cssColour(theme.border);
    for (let layer = 0; layer < this.layerCount; layer++) {
      for (let head = 0; head < this.headCount; head++) {
        const left = head * this.devicePitch + this.gap / 2;
        const top = layer * this.devicePitch + this.gap / 2;
        context.fillRect(left - 1, top - 1, width + 2, height + 2);
        this.paint(context, [layer, head], left, top, width, height);
      }
    }
  }

  paint(context, [layer, head], left, top, width, height) {
    const { rows, columns, colours, hatch } = this;
    const start = (layer * this.headCount + head) * rows * columns;
    const codes = this.codes.subarray(start, start + rows * columns);
    paintMatrix(context, { codes, rows, columns, colours, hatch }, left, top, width, height);
  }

  drawFrames() {
    this.frames.replaceChildren(
      ...this.selected.map((head, slot) => {
        const frame = element("div", "frame");
        frame.style.borderColor = SLOT_COLOURS[slot % SLOT_COLOURS.length];
        frame.append(slotBadge(slot));
        this.place(frame, head);
        return frame;
      }),
    );
  }

  // Moves a frame around a head's thumbnail; without a head it goes away.
  place(frame, head) {
    frame.hidden = !head || !this.pitch;
    if (frame.hidden) return;
    const pixels = (count) => `${count / devicePixelRatio}px`;
    frame.style.top = pixels(head[0] * this.devicePitch + this.gap / 2);
    frame.style.left = pixels(head[1] * this.devicePitch + this.gap / 2);
    frame.style.width = pixels(this.thumbnail.width);
    frame.style.height = pixels(this.thumbnail.height);
  }

  headUnder(event) {
    const { left, top } = this.canvas.getBoundingClientRect();
    const layer = Math.floor((event.clientY - top) / this.pitch);
    const head = Math.floor((event.clientX - left) / this.pitch);
    return layer >= 0 && head >= 0 && layer < this.layerCount && head < this.headCount ? [layer, head] : null;
  }

  hover(head, x, y) {
    if (!head) return this.leave();
    if (headName(head) === this.hovered) return this.view.tooltip.move(x, y);
    this.hovered = headName(head);
    this.place(this.hoverFrame, head);
    this.view.tooltip.show(x, y, headName(head), this.describe(head), this.magnify(head));
    this.view.link.send("head", head);
  }

  leave() {
    this.hovered = null;
    this.place(this.hoverFrame, null);
    this.view.tooltip.hide();
    this.view.link.send("head", null);
  }

  slotOf(head) {
    return this.selected.findIndex((other) => headName(other) === headName(head));
  }

  describe(head) {
    const slot = this.slotOf(head);
    const rows = slot < 0 ? [] : [["selected", `${slot + 1} of ${this.selected.length}`]];
    return this.captions ? [["", this.captions[head[0]][head[1]]], ...rows] : rows;
  }

  // A larger picture for the tooltip, where the thumbnails are small.
  magnify(head) {
    if (this.pitch >= 0.7 * MAGNIFIED) return null;
    const canvas = element("canvas");
    const side = Math.floor(MAGNIFIED * devicePixelRatio);
    canvas.width = crispSize(this.columns, side);
    canvas.height = crispSize(this.rows, side);
    canvas.style.width = `${canvas.width / devicePixelRatio}px`;
    this.paint(canvas.getContext("2d"), head, 0, 0, canvas.width, canvas.height);
    return canvas;
  }

  // A head more than allowed takes the slot of the one selected longest, so that the others keep their colours.
  toggle(head) {
    const slot = this.slotOf(head);
    if (slot >= 0) this.selected.splice(slot, 1);
    else if (this.selected.length < this.maxSelected) this.selected.push(head);
    else {
      const ages = this.selected.map((other) => this.since.get(headName(other)));
      this.selected[ages.indexOf(Math.min(...ages))] = head;
    }
    this.since.set(headName(head), this.clock++);
    this.cursor = head;
    this.drawFrames();
    this.view.announce(`${headName(head)} ${slot >= 0 ? "removed" : `selected as number ${this.slotOf(head) + 1}`}`);
    this.view.report(this.selected);
  }

  press(event) {
    if (event.key === "Enter" || event.key === " ") this.toggle(this.cursor);
    else if (event.key === "Escape") this.leave();
    else if (event.key in ARROWS) this.move(...ARROWS[event.key]);
    else return;
    event.preventDefault();
  }

  move(down, right) {
    const clamp = (value, count) => Math.min(count - 1, Math.max(0, value));
    this.cursor = [clamp(this.cursor[0] + down, this.layerCount), clamp(this.cursor[1] + right, this.headCount)];
    this.place(this.hoverFrame, this.cursor);
    this.hoverFrame.scrollIntoView({ block: "nearest", inline: "nearest" });
    const { right: x, top: y } = this.hoverFrame.getBoundingClientRect();
    this.hover(this.cursor, x, y);
    this.view.announce([headName(this.cursor), ...this.describe(this.cursor).flat()].join(" "));
  }
}

export default (component) => mountView(component, HeadGrid);
