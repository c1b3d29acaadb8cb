// What the first minute shows: parts of the page in a shade that dims all others, what lies over them, and its card.
/** @typedef {() => DOMRect | null | undefined} RectOf */

class Stage {
  /** @type {string[]} */
  shown = []; // the parts, the first of which the card stands under; none leaves the whole page bright
  /** @type {Map<HTMLElement, RectOf>} */
  covers = new Map();
  /** @type {Timer[]} */
  timers = [];
  scene = 0; // grows with each that is left

  /** @param {HTMLElement} card */
  constructor(card) {
    this.card = card;
    this.shade = element("div", "shade");
    this.layer = element("div", "layer");
    this.parts = [this.shade, this.layer];
  }

  clear() {
    for (const timer of this.timers) clearTimeout(timer);
    this.timers = [];
    this.scene++;
    this.covers.clear();
    this.layer.replaceChildren();
  }

  // Leaves these parts of the page bright; no parts, the whole page.
  /** @param {string[]} parts */
  show(parts) {
    this.shown = parts;
    document.body.classList.toggle("headlight-spoken-of", parts.length > 0);
  }

  /** @param {number} time @param {() => void} act */
  later(time, act) {
    this.timers.push(setTimeout(act, time));
  }

  /** @param {number} time @param {(share: number) => void} act */
  animate(time, act) {
    const { scene } = this;
    if (QUIET.matches) return act(1);
    const since = performance.now();
    const step = () => {
      if (this.scene !== scene) return;
      const share = Math.min(1, (performance.now() - since) / time);
      act(1 - (1 - share) ** 3);
      if (share < 1) requestAnimationFrame(step);
    };
    step();
  }

  /** @param {RectOf} rectOf */
  cover(rectOf, kind = "", text = "") {
    const cover = element("div", `cover ${kind}`, text);
    this.covers.set(cover, rectOf);
    this.layer.append(cover);
    this.follow();
    return cover;
  }

  /** @param {HTMLElement} cover */
  uncover(cover) {
    this.covers.delete(cover);
    cover.remove();
  }

  // What is spoken of moves with the page: so it is looked at again and again.
  follow() {
    const seen = this.shown.map((part) => rectOfPart(part)).filter((rect) => rect !== undefined);
    const paths = seen.map(({ left, top, right, bottom }) => `M${left - 8} ${top - 6}H${right + 8}V${bottom + 6}H${left - 8}Z`);
    this.shade.style.clipPath = `path(evenodd, "M0 0H${innerWidth}V${innerHeight}H0Z ${paths.join(" ")}")`;
    this.shade.hidden = this.shown.length === 0;
    for (const [cover, rectOf] of this.covers) {
      const rect = rectOf();
      cover.hidden = !rect;
      if (!rect) continue;
      const { left, top, width, height } = rect;
      Object.assign(cover.style, { left: `${left}px`, top: `${top}px`, minWidth: `${width}px`, height: `${height}px` });
    }
    this.placeCard(seen);
  }

  // Under the first part at the left, to the right of the grid where that is spoken of, or in the corner.
  /** @param {DOMRect[]} holes */
  placeCard(holes) {
    const { offsetWidth: width, offsetHeight: height } = this.card;
    if (innerWidth < 700) return void (this.card.style.translate = "");
    const grid = this.shown.includes("grid") ? rectOfPart("grid") : null;
    const left = grid ? grid.right + 40 : holes.length ? Math.max(28, holes[0].left) : innerWidth;
    const top = grid ? grid.top + 60 : holes.length ? holes[0].bottom + 16 : innerHeight;
    this.card.style.translate = `${clamp(left, 16, innerWidth - width - 16)}px ${clamp(top, 70, innerHeight - height - 16)}px`;
  }
}
