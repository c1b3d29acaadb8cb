// Heads as thumbnails on one canvas. Frames, badges and a table's labels are elements over it: a hover redraws nothing.
const SMALL_PITCH = 40; // CSS pixels
const NAME_PITCH = 23; // in which H31 fits
const PATIENCE = 200; // milliseconds

/**
 * @typedef {object} HeadGridProps of head_grid/__init__.py
 * @property {string[][] | null} captions by layer and head, as figures and marks are
 * @property {HeadIndex[] | null} order
 * @property {string[][] | null} figures
 * @property {string[][] | null} marks
 * @property {number | null} largest
 * @property {ThumbnailKind} kind
 * @property {string} legendTitle
 * @property {number} legendLimit
 * @property {string} lacks
 * @property {HeadRole[]} roles
 * @property {string | null} role
 * @property {Scored | null} scored
 * @property {string} side
 */

/** @implements {Component} */
class HeadGrid {
  listeners = {
    head: (/** @type {HeadIndex | null} */ head) => this.place(this.linkedFrame, head),
    role: (/** @type {HeadBars["role"]} */ role) => this.dim(role),
    thumbnail: (/** @type {HeadIndex} */ head) => this.crop(head),
    bars: () => this.scaleBars,
    lacks: () => this.props?.lacks && this.thumbnails.masked,
  };
  /** @type {ScaleBar[]} */
  scaleBars = [];
  bars = new HeadBars();
  /** @type {Theme} */
  theme;
  cursor = 0;
  /** @type {HeadGridProps} */
  props;
  thumbnails = new Thumbnails();
  /** @type {HeadIndex[]} */
  selected = [];
  /** @type {GridLayout} */
  layout;
  /** @type {string | null} */
  hovered = null; // a head's name

  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.legend = element("div", "legend");
    this.sheet = element("div", "sheet");
    this.across = element("div", "across");
    this.down = element("div", "down");
    this.board = widget("board", "application", "grid of attention heads");
    this.canvas = element("canvas");
    this.marksLayer = element("div", "marks");
    this.frames = element("div", "frames");
    this.hoverFrame = element("div", "frame hover");
    this.linkedFrame = element("div", "frame hover");
    this.hoverFrame.hidden = this.linkedFrame.hidden = true;
    this.board.append(this.canvas, this.marksLayer, this.frames, this.linkedFrame, this.hoverFrame);
    this.sheet.append(element("div", "corner"), this.across, this.down, this.board);
    const scroller = element("div", "scroller");
    scroller.append(this.sheet);
    this.rolesLine = element("div", "roles");
    view.root.append(this.rolesLine, scroller, this.legend);
    this.listen();
  }

  listen() {
    this.board.onpointermove = (event) => this.hover(this.headUnder(event), event.clientX, event.clientY);
    this.board.onpointerleave = () => this.leave();
    this.board.onclick = (event) => this.click(this.headUnder(event), event.clientX, event.clientY);
    this.board.onblur = () => this.leave();
    const go = (/** @type {string} */ key) => this.move(this.layout.step(this.cursor, key));
    const toggle = () => this.layout.heads.length > 0 && this.toggle(this.layout.heads[this.cursor]);
    const steps = Object.fromEntries(GRID_KEYS.map((key) => [key, go]));
    onKeys(this.board, { ...steps, Enter: toggle, " ": toggle, m: () => this.openMenu(), Escape: () => this.leave() });
    offerHeadMenu(this.board, (event) => [this.headUnder(event)].filter((head) => head !== null));
  }

  /** @param {HeadGridProps} props @param {{ thumbnails: Bytes, scores?: Bytes }} arrays */
  update(props, { thumbnails, scores }) {
    if (this.layout && this.props.side !== props.side) fade(this.canvas);
    this.props = props;
    this.bars.hold(props, scores);
    this.rolesLine.replaceChildren(...props.roles.map((role) => this.roleButton(role)));
    this.thumbnails.hold(thumbnails);
    const [layerCount, headCount] = thumbnails.shape;
    const { order, legendTitle } = props;
    const size = order ? `${order.length} heads in order` : `${layerCount} layers by ${headCount} heads`;
    this.board.ariaLabel = `${size}: ${legendTitle}. Arrow keys, Home and End move; Enter selects, ${MENU_HINT}.`;
  }

  /** @param {HeadIndex[]} selected */
  setValue(selected) {
    const [layerCount, headCount] = this.thumbnails.shape;
    this.selected = selected.filter(([layer, head]) => layer < layerCount && head < headCount);
    this.view.link.send("chosen", null); // Python's word counts
    this.drawFrames();
  }

  /** @param {Theme} theme @param {number} width */
  draw(theme, width) {
    const { order, figures, largest, kind, legendTitle, legendLimit: limit, lacks } = this.props;
    const { shape, masked } = this.thumbnails;
    this.theme = theme;
    this.layout = order ? flowLayout(order, shape, width, figures ? 2 : 1) : tableLayout(shape, width, largest ?? MAX_PITCH, ...this.bars.room);
    this.cursor = Math.min(this.cursor, Math.max(0, this.layout.heads.length - 1));
    this.sheet.classList.toggle("flow", Boolean(order));
    this.board.classList.toggle("small", this.layout.pitch < SMALL_PITCH);
    this.thumbnails.colour(kind, theme);
    const scale = new ColourScale({ signed: kind === "signed", root: "sqrt", limit });
    const swatches = masked && lacks ? [legendSwatch(lacks, "masked")] : [];
    this.legend.replaceChildren(...this.bars.legend(theme), scale.bar(theme, legendTitle), ...swatches);
    this.scaleBars = [{ scale, quantity: legendTitle, title: legendTitle }];
    this.view.tellOfBars();
    this.drawLabels();
    this.drawThumbnails(theme);
    this.drawMarks();
    this.drawFrames();
  }

  /** @param {HeadRole} role */
  roleButton(role) {
    const { role: chosen } = this.props;
    const button = roleButton(role, chosen, () => this.view.open(chosen === role.key ? "" : role.key));
    button.onpointerenter = () => this.lookAt(role.key);
    button.onpointerleave = () => this.lookAt(chosen);
    return button;
  }

  // Here and in the other grids of the group.
  /** @param {string | null} role */
  lookAt(role) {
    this.dim(role);
    this.view.link.send("role", role);
  }

  /** @param {HeadBars["role"]} role */
  dim(role) {
    if (role === this.bars.role) return;
    this.bars.role = role;
    if (this.theme) this.drawThumbnails(this.theme);
  }

  drawLabels() {
    /** @type {(axis: 0 | 1, side: "left" | "top", length: number) => HTMLElement[]} */
    const labels = (axis, side, length) =>
      upTo(length).map((index) => {
        const name = `${"LH"[axis]}${index}`;
        const { pitch, downPitch } = this.layout;
        const label = element("span", "", side === "left" && pitch < NAME_PITCH && index > 0 ? String(index) : name);
        label.style[side] = `${(index + 0.5) * (side === "left" ? pitch : downPitch)}px`;
        label.title = `Choose all heads ${["of layer", "numbered"][axis]} ${index}`;
        label.onclick = () => this.toggleAll(this.layout.heads.filter((head) => head[axis] === index), name);
        return label;
      });
    const [layerCount, headCount] = this.props.order ? [0, 0] : this.thumbnails.shape;
    const { isTurned } = this.layout;
    this.across.replaceChildren(...(isTurned ? labels(0, "left", layerCount) : labels(1, "left", headCount)));
    this.down.replaceChildren(...(isTurned ? labels(1, "top", headCount) : labels(0, "top", layerCount)));
  }

  /** @param {Theme} theme */
  drawThumbnails(theme) {
    const { layout } = this;
    this.canvas.width = layout.columns * layout.across;
    this.canvas.height = layout.lines * layout.down;
    this.canvas.style.width = `${this.canvas.width / devicePixelRatio}px`;
    this.canvas.style.height = `${this.canvas.height / devicePixelRatio}px`;
    const context = contextOf(this.canvas);
    for (const [index, head] of layout.heads.entries()) {
      const [left, top] = layout.corner(index);
      context.fillStyle = cssColour(theme.border);
      context.fillRect(left - 1, top - 1, layout.width + 2, layout.height + 2);
      this.thumbnails.paint(context, head, left, top, layout.width, layout.height);
      this.bars.paint(context, theme, layout, head, left, top);
      if (this.props.order) this.drawCaption(context, theme, head, left + layout.width / 2, top + layout.height);
    }
  }

  // A head's name and figure, centred under its thumbnail.
  /** @param {CanvasRenderingContext2D} context @param {Theme} theme @param {HeadIndex} head @param {number} x @param {number} y */
  drawCaption(context, theme, head, x, y) {
    context.save();
    context.translate(x, y);
    context.scale(devicePixelRatio, devicePixelRatio);
    context.textAlign = "center";
    context.textBaseline = "top";
    const lines = [headName(head), this.figureOf(head)];
    for (const [line, text] of lines.entries()) {
      context.font = labelFont(theme, line ? 400 : 600);
      context.fillStyle = cssColour(line ? theme.faded : theme.text);
      context.fillText(text, 0, 3 + line * CAPTION_LINE);
    }
    context.restore();
  }

  drawMarks() {
    const { marks } = this.props;
    if (!marks) return this.marksLayer.replaceChildren();
    const marked = this.layout.heads.filter(([layer, head]) => marks[layer][head]);
    this.marksLayer.replaceChildren(
      ...marked.map((head) => {
        const place = element("div", "mark");
        place.append(element("span", "", marks[head[0]][head[1]]));
        this.place(place, head);
        return place;
      }),
    );
  }

  drawFrames() {
    this.frames.replaceChildren(
      ...this.selected.map((head, slot) => {
        const frame = element("div", "frame");
        frame.style.borderColor = slotColour(slot);
        frame.append(slotBadge(slot));
        this.place(frame, head);
        return frame;
      }),
    );
  }

  // Moves a frame around a head's thumbnail; without a head, or where it is not shown, the frame goes away.
  /** @param {HTMLElement} frame @param {HeadIndex | null} head */
  place(frame, head) {
    const { layout } = this;
    const index = head ? layout?.indices.get(headName(head)) : undefined;
    frame.hidden = index === undefined;
    if (index === undefined) return;
    const [left, top] = layout.corner(index);
    const box = { left, top, width: layout.width, height: layout.height };
    for (const [name, length] of Object.entries(box)) frame.style.setProperty(name, `${length / devicePixelRatio}px`);
  }

  // A head's picture and where it stands; null where it is not shown.
  /** @type {(head: HeadIndex) => Crop | null} */
  crop(head) {
    const { layout, canvas } = this;
    const index = layout?.indices.get(headName(head));
    if (index === undefined || !canvas.isConnected) return null;
    const [left, top] = layout.corner(index);
    return cropOf(canvas, left, top, layout.width, layout.height);
  }

  /** @type {(event: MouseEvent) => HeadIndex | null} */
  headUnder(event) {
    const { left, top } = this.canvas.getBoundingClientRect();
    return this.layout.heads[this.layout.at(event.clientX - left, event.clientY - top)] ?? null;
  }

  /** @param {HeadIndex | null} head @param {number} x @param {number} y */
  hover(head, x, y) {
    if (!head) return this.leave();
    if (headName(head) === this.hovered) return this.view.tooltip.move(x, y);
    this.hovered = headName(head);
    this.place(this.hoverFrame, head);
    this.view.tooltip.show(x, y, headName(head), this.describe(head), this.magnify(head));
    this.view.link.send("head", head);
  }

  // The tooltip tells what became of the head, unless the pointer has gone elsewhere.
  /** @param {HeadIndex | null} head @param {number} x @param {number} y */
  async click(head, x, y) {
    if (!head) return this.leave();
    this.hovered = headName(head);
    await this.toggle(head);
    if (this.hovered !== headName(head)) return;
    this.hovered = null;
    this.hover(head, x, y);
  }

  // The menu of the head that the keyboard is at.
  openMenu() {
    const head = this.layout.heads[this.cursor];
    if (!head) return;
    this.place(this.hoverFrame, head);
    const { left, bottom } = this.hoverFrame.getBoundingClientRect();
    openHeadMenu([head], left, bottom);
  }

  leave() {
    this.hovered = null;
    for (const frame of [this.hoverFrame, this.linkedFrame]) this.place(frame, null);
    this.view.tooltip.hide();
    this.view.link.send("head", null);
  }

  /** @param {HeadIndex} head */
  slotOf(head) {
    return this.selected.findIndex((other) => headName(other) === headName(head));
  }

  /** @param {HeadIndex} place */
  figureOf([layer, head]) {
    return this.props.figures?.[layer][head] ?? "";
  }

  /** @type {(head: HeadIndex) => TooltipRow[]} */
  describe(head) {
    const slot = this.slotOf(head);
    /** @type {TooltipRow[]} */
    const rows = slot < 0 ? [] : [["selected", `${slot + 1} of ${this.selected.length}`]];
    const { captions } = this.props;
    return captions ? [["", captions[head[0]][head[1]]], ...rows] : rows;
  }

  // A larger picture for the tooltip, where the thumbnails are small.
  /** @param {HeadIndex} head */
  magnify(head) {
    const [, , rows, columns] = this.thumbnails.shape;
    return this.layout.pitch >= 0.7 * MAGNIFIED || rows * columns === 1 ? null : this.thumbnails.enlarged(head);
  }

  /** @param {HeadIndex} head */
  toggle(head) {
    this.cursor = this.layout.indices.get(headName(head)) ?? this.cursor;
    return this.toggleAll([head], headName(head));
  }

  // Selects those of the heads that are not, or none of them if all are. The frames come first: all that follows from
  // them would hold them up.
  /** @param {HeadIndex[]} heads @param {string} name */
  async toggleAll(heads, name) {
    const added = heads.filter((head) => this.slotOf(head) < 0);
    if (added.length > 0) this.selected = [...this.selected, ...added];
    else this.selected = this.selected.filter((head) => !heads.some((other) => headName(other) === headName(head)));
    this.drawFrames();
    this.view.keep(this.selected);
    const message = `${name} ${added.length > 0 ? `selected as number ${this.selected.length}` : "removed"}`;
    await nextFrame();
    this.view.announce(message);
    this.report();
  }

  // The chosen heads are shown first: Python, while it draws the page anew, would hold them up.
  async report() {
    const replies = this.view.link.send("chosen", this.selected);
    await Promise.race([Promise.allSettled(replies), new Promise((done) => setTimeout(done, PATIENCE))]);
    this.view.report(this.selected);
  }

  /** @param {number} index */
  move(index) {
    const head = this.layout.heads[index];
    if (!head) return;
    this.cursor = index;
    this.place(this.hoverFrame, head);
    this.hoverFrame.scrollIntoView({ block: "nearest", inline: "nearest" });
    const { right: x, top: y } = this.hoverFrame.getBoundingClientRect();
    this.hover(head, x, y);
    this.view.announce(headName(head), this.figureOf(head), this.describe(head));
  }
}
