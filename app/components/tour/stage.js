// What the first minute shows: parts of the page in a shade that dims all others, what lies over them, and its card.
const QUIET = matchMedia("(prefers-reduced-motion: reduce)");

/** @typedef {(rect: DOMRect) => [left: number, top: number, width: number, height: number]} PartOf */

class Stage {
  /** @type {string[]} */
  shown = []; // the parts, the first of which the card stands under
  /** @type {Map<HTMLElement, [target: () => Element | null | undefined, part: PartOf]>} */
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

  /** @param {() => Element | null | undefined} target @param {PartOf} part */
  cover(target, part, kind = "", text = "") {
    const cover = element("div", `cover ${kind}`, text);
    this.covers.set(cover, [target, part]);
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
    const holes = this.shown.map((part) => document.querySelector(`.st-key-headlight-${part}`)?.getBoundingClientRect());
    const seen = holes.filter((hole) => hole !== undefined);
    const paths = seen.map(({ left, top, right, bottom }) => `M${left - 8} ${top - 6}H${right + 8}V${bottom + 6}H${left - 8}Z`);
    this.shade.style.clipPath = `path(evenodd, "M0 0H${innerWidth}V${innerHeight}H0Z ${paths.join(" ")}")`;
    for (const [cover, [target, part]] of this.covers) {
      const rect = target()?.getBoundingClientRect();
      cover.hidden = !rect;
      if (!rect) continue;
      const [left, top, width, height] = part(rect);
      Object.assign(cover.style, { left: `${left}px`, top: `${top}px`, minWidth: `${width}px`, height: `${height}px` });
    }
    this.placeCard(seen);
  }

  // Under the first part at the left, or where the grid is spoken of, to the right of it.
  /** @param {DOMRect[]} holes */
  placeCard(holes) {
    const { offsetWidth: width, offsetHeight: height } = this.card;
    if (innerWidth < 700 || holes.length === 0) return void (this.card.style.translate = "");
    const grid = this.shown.includes("grid") ? document.querySelector(".st-key-headlight-grid")?.getBoundingClientRect() : null;
    const left = grid ? grid.right + 40 : Math.max(28, holes[0].left);
    const top = grid ? grid.top + 60 : holes[0].bottom + 16;
    this.card.style.translate = `${clamp(left, 16, innerWidth - width - 16)}px ${clamp(top, 70, innerHeight - height - 16)}px`;
  }
}
