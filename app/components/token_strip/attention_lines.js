// Lines between tokens, as wide as the attention between them. They move when it changes.
const FAINTEST = 0.02; // of the scale's end: what is less has no line
const MORPH = 200; // milliseconds
const BESIDE = 4; // CSS pixels between a token and a line that ends at its side

/** @typedef {{ left: number, right: number, top: number, bottom: number, row: number }} ChipPlace within the strip */
/** @typedef {{ id: string, from: HTMLElement, to: HTMLElement, share: number, colour: Rgb, text: string }} TokenLink */
/** @typedef {{ x: number, y: number, toX: number, toY: number, share: number, colour: Rgb }} DrawnLine */

class AttentionLines {
  /** @type {Map<HTMLElement, ChipPlace>} */
  places = new Map();
  /** @type {Map<string, DrawnLine>} */
  start = new Map(); // from where they move
  /** @type {Map<string, DrawnLine>} */
  painted = new Map();
  /** @type {Map<string, DrawnLine>} */
  wanted = new Map();
  /** @type {[line: DrawnLine, text: string] | null} */
  largest = null; // the one whose value is written over it
  /** @type {Theme} */
  theme;
  /** @type {number | null} */
  frame = null;
  began = 0;
  shown = -Infinity; // when others were shown last
  width = 0; // of the strip, CSS pixels, as it was when the chips were measured: while it is put back it has none
  height = 0;
  thickest = 9; // CSS pixels, of all there can be
  isAcross = false; // from one column of tokens to another

  /** @param {HTMLElement} body */
  constructor(body) {
    this.body = body;
    this.canvas = element("canvas", "lines");
    this.canvas.ariaHidden = "true";
  }

  // Where the chips are; how many lines of text they take at most.
  /** @param {HTMLElement[][]} lists */
  measure(lists) {
    const { left, top } = this.body.getBoundingClientRect();
    [this.width, this.height] = [this.body.clientWidth, this.body.clientHeight];
    this.places.clear();
    const rows = lists.map((chips) => {
      /** @type {number[]} */
      const tops = [];
      for (const chip of chips) {
        const box = chip.getBoundingClientRect();
        if (tops[tops.length - 1] !== box.top) tops.push(box.top);
        const [x, y] = [box.left - left, box.top - top];
        this.places.set(chip, { left: x, right: x + box.width, top: y, bottom: y + box.height, row: tops.length });
      }
      return tops.length;
    });
    return Math.max(0, ...rows);
  }

  // Draws these from now on; those of before move to where they belong now, unless the pointer hurries on: each frame of
  // the motion would hold up what it points at next.
  /** @param {Theme} theme @param {TokenLink[]} links @param {boolean} isMoving */
  show(theme, links, isMoving) {
    this.theme = theme;
    this.start = this.painted;
    const strong = links.filter(({ share }) => share >= FAINTEST);
    this.wanted = new Map(strong.map((link) => [link.id, this.lineOf(link)]));
    const first = strong.reduce((most, link) => (link.share > (most?.share ?? 0) ? link : most), /** @type {TokenLink | null} */ (null));
    const line = first && this.wanted.get(first.id);
    this.largest = line && first ? [line, first.text] : null;
    const now = performance.now();
    this.began = isMoving && !QUIET.matches && now - this.shown > MORPH ? now : -Infinity;
    this.shown = now;
    if (this.frame === null) this.step();
  }

  clear() {
    this.painted = this.wanted = new Map();
    this.largest = null;
    clearCanvas(this.canvas);
  }

  /** @param {TokenLink} link @returns {DrawnLine} */
  lineOf({ from, to, share, colour }) {
    const [one, other] = [from, to].map((chip) => /** @type {ChipPlace} */ (this.places.get(chip)));
    if (this.isAcross) return { ...across(one, other), share, colour };
    const isAbove = other.top < one.top - 1;
    const isBelow = other.top > one.top + 1;
    const [y, toY] = isAbove ? [one.top, other.bottom] : isBelow ? [one.bottom, other.top] : [one.top, other.top];
    return { x: (one.left + one.right) / 2, y, toX: (other.left + other.right) / 2, toY, share, colour };
  }

  step() {
    this.frame = null;
    const passed = clamp((performance.now() - this.began) / MORPH, 0, 1);
    this.painted = passed === 1 ? this.wanted : this.between(1 - (1 - passed) ** 3);
    this.paint();
    if (passed < 1) this.frame = requestAnimationFrame(() => this.step());
  }

  // On the way from what is on the screen to what is wanted.
  /** @param {number} way @returns {Map<string, DrawnLine>} */
  between(way) {
    /** @type {(from: number, to: number) => number} */
    const mix = (from, to) => from + way * (to - from);
    /** @type {Map<string, DrawnLine>} */
    const mixed = new Map();
    for (const id of new Set([...this.start.keys(), ...this.wanted.keys()])) {
      const wanted = this.wanted.get(id);
      const before = this.start.get(id);
      const to = wanted ?? { .../** @type {DrawnLine} */ (before), share: 0 };
      const from = before ?? { ...to, toX: to.x, toY: to.y, share: 0 }; // a new one grows out of the token that looks
      mixed.set(id, {
        x: mix(from.x, to.x),
        y: mix(from.y, to.y),
        toX: mix(from.toX, to.toX),
        toY: mix(from.toY, to.toY),
        share: mix(from.share, to.share),
        colour: to.colour,
      });
    }
    return mixed;
  }

  paint() {
    const context = sizedContext(this.canvas, this.width, this.height);
    context.lineCap = "round";
    const thinFirst = [...this.painted.values()].sort((one, other) => one.share - other.share);
    for (const line of thinFirst) {
      context.beginPath();
      context.moveTo(line.x, line.y);
      context.bezierCurveTo(...this.handles(line), line.toX, line.toY);
      context.lineWidth = 1 + (this.thickest - 1) * line.share;
      context.strokeStyle = cssColour(line.colour, 0.35 + 0.65 * line.share);
      context.stroke();
    }
    if (this.largest) this.write(context, ...this.largest);
  }

  // The inner two points of the curve: an arc over the tokens of one line of text, and else a way from line to line.
  /** @param {DrawnLine} line @returns {[x1: number, y1: number, x2: number, y2: number]} */
  handles({ x, y, toX, toY }) {
    if (this.isAcross) return [(x + toX) / 2, y, (x + toX) / 2, toY];
    if (Math.abs(toY - y) > 1) {
      const half = (toY - y) / 2;
      return [x, y + half, toX, toY - half];
    }
    const rise = this.rise(Math.abs(toX - x), y) / 0.75; // of which the curve comes three quarters
    return [x, y - rise, toX, y - rise];
  }

  // How far an arc of such a width rises over tokens whose top is here.
  /** @param {number} width @param {number} top */
  rise(width, top) {
    const rows = [...this.places.values()].filter((place) => place.top < top - 1).map(({ bottom }) => bottom);
    const room = top - Math.max(0, ...rows) - (rows.length ? this.thickest : 18); // a value stands over the first line's arcs
    return Math.min(room, 12 + 0.14 * width);
  }

  // The value at the top of the arc; nothing is written between lines of text, where there is no room.
  /** @param {CanvasRenderingContext2D} context @param {DrawnLine} line @param {string} text */
  write(context, { x, y, toX, toY }, text) {
    const top = Math.min(...[...this.places.values()].map((place) => place.top));
    if (this.isAcross || Math.abs(toY - y) > 1 || y > top + 1) return;
    context.font = `600 ${this.theme.sizes.figure}px ${this.theme.font}`;
    context.fillStyle = cssColour(this.theme.text);
    context.textAlign = "center";
    const middle = (x + toX) / 2;
    const half = context.measureText(text).width / 2;
    context.fillText(text, clamp(middle, half, this.width - half), y - this.rise(Math.abs(toX - x), y) - 8);
  }
}

// From the side of a token to the facing side of one in another column.
/** @type {(from: ChipPlace, to: ChipPlace) => { x: number, y: number, toX: number, toY: number }} */
function across(from, to) {
  const [x, toX] = from.left < to.left ? [from.right + BESIDE, to.left - BESIDE] : [from.left - BESIDE, to.right + BESIDE];
  return { x, y: (from.top + from.bottom) / 2, toX, toY: (to.top + to.bottom) / 2 };
}
