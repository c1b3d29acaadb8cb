// Attention in 45 seconds, told on the live picture: all but what is spoken of is dimmed, and nothing is covered that
// can be clicked. Numbers are the run's. Each frame goes on by itself, by its button, by Space, or by doing what it asks.
const OPENED_TIME = 3000; // milliseconds, for a look at a picture that was opened

/** @typedef {[label: string, chance: number, shown: string]} Guess */
/** @typedef {[does: string, heads: string[]]} HeadKind */
/** @typedef {{ query: number, key: number, weight: number, found: boolean, labels: [string, string] }} MinuteRow */
/**
 * @typedef {{ tokens: number, layers: number, heads: number, guesses: Guess[], head: string, rows: MinuteRow[],
 *   copying: string[], kinds: HeadKind[], after: { chance: [number, string], guesses: Guess[] }, examples: [title: string, name: string][]
 * }} MinuteProps of frame/first_minute.py
 */
/** @typedef {{ end: () => void, hasTurned: () => boolean, more: () => void, open: (example: string) => void, learn: () => void }} MinuteActs */

class FirstMinute {
  at = -1; // the frame
  /** @type {MinuteProps} */
  data;
  isOff = false; // the heads that copy
  said = ""; // what was guessed

  /** @param {View} view @param {MinuteActs} acts */
  constructor(view, acts) {
    this.view = view;
    this.acts = acts;
    this.card = element("div", "card minute");
    this.card.setAttribute("role", "dialog");
    this.card.ariaLabel = "Attention in 45 seconds";
    this.card.tabIndex = -1;
    this.stage = new Stage(this.card);
    this.parts = [...this.stage.parts, this.card];
    for (const part of this.parts) part.hidden = true;
    this.hear = (/** @type {KeyboardEvent} */ event) => this.onKey(event);
    this.scenes = new MinuteScenes(this);
    this.place = () => this.stage.follow();
    this.clock = new FrameClock(this.card, () => this.tick(), () => this.frames[this.at]?.then());
  }

  get frames() {
    return this.scenes.all;
  }

  get isOpen() {
    return this.at >= 0;
  }

  // The first part of the page that is spoken of.
  part() {
    return this.isOpen ? document.querySelector(`.st-key-headlight-${this.frames[this.at].parts[0]}`) : null;
  }

  // Whether it tells of this run.
  /** @param {MinuteProps | null} data */
  tellsOf(data) {
    return JSON.stringify(data) === JSON.stringify(this.data);
  }

  /** @param {MinuteProps} data */
  start(data) {
    this.close();
    this.data = data;
    this.said = "";
    for (const part of this.parts) part.hidden = false;
    document.addEventListener("keydown", this.hear, true);
    for (const event of ["scroll", "resize"]) addEventListener(event, this.place, true);
    this.clock.start();
    this.show(0);
    beginAt(this.card);
  }

  close() {
    if (!this.isOpen) return;
    this.leaveFrame();
    this.at = -1;
    this.isOff = false;
    this.clock.stop();
    this.stage.show([]);
    document.removeEventListener("keydown", this.hear, true);
    for (const event of ["scroll", "resize"]) removeEventListener(event, this.place, true);
    for (const part of this.parts) part.hidden = true;
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const inside = event.composedPath()[0];
    const types = inside instanceof HTMLElement && inside.matches("input, textarea, select, button, a, [contenteditable]");
    if (event.key === "Escape") this.acts.end();
    else if (event.key === " " && !types && this.at < this.frames.length - 1) {
      event.preventDefault();
      this.show(this.at + 1);
    }
  }

  leaveFrame() {
    this.stage.clear();
    for (const topic of ["hover", "rows", "role"]) this.view.link.send(topic, null);
    this.view.link.send("plain", false);
  }

  tick() {
    if (this.acts.hasTurned()) return this.acts.end();
    this.place();
    this.showTime();
  }

  showTime() {
    this.card.querySelector(".step.now")?.setAttribute("style", `--passed: ${this.clock.share}`);
  }

  // That the pointer is on a word, or that a picture was opened.
  /** @param {boolean} isDoing */
  point(isDoing) {
    this.clock.isDoing = isDoing;
  }

  opened() {
    if (!this.frames[this.at]?.opens) return;
    this.stage.show(["grid", "heads"]);
    this.clock.passed = Math.max(this.clock.passed, this.clock.time - OPENED_TIME);
  }

  /** @param {number} at */
  show(at) {
    this.leaveFrame();
    this.at = at;
    const frame = this.frames[at];
    this.card.classList.toggle("wide", Boolean(frame.isBright)); // nothing is spoken of, and little is to be covered
    const hasKeyboard = this.card.matches(":focus-within");
    this.card.replaceChildren(this.head(), ...frame.body(), this.foot());
    if (hasKeyboard) this.card.focus({ preventScroll: true }); // not a button, which would hold the time
    this.part()?.scrollIntoView({ block: innerWidth < 700 ? "start" : "nearest" });
    this.stage.show(frame.isBright ? [] : frame.parts);
    this.clock.begin(frame.time);
    this.clock.isDoing = false;
    this.showTime();
    frame.play();
    this.stage.follow();
    this.view.announce(frame.body().map((each) => each.textContent).join(" "));
  }

  head() {
    const { at } = this;
    const head = element("div", "minute-head");
    const dots = this.frames.map((_, place) => element("span", place === at ? "step now" : "step"));
    head.append(...dots, buttonOf("Skip", () => this.acts.end()));
    return head;
  }

  foot() {
    const { at, frames } = this;
    const foot = element("div", "buttons");
    const isLast = at === frames.length - 1;
    const back = buttonOf("Back", () => this.show(at - 1));
    const next = buttonOf(isLast ? "Done" : "Next", () => (isLast ? this.acts.end() : this.show(at + 1)));
    back.hidden = at === 0;
    next.className = "next";
    next.title = isLast ? "" : "Space";
    foot.append(this.pause(isLast), back, next);
    return foot;
  }

  // Holds the time, and lets it go on.
  /** @param {boolean} isLast */
  pause(isLast) {
    const name = () => (this.clock.isPaused ? "Play" : "Pause");
    const button = buttonOf(name(), () => {
      this.clock.isPaused = !this.clock.isPaused;
      button.textContent = name();
      button.blur(); // which would hold the time as well
    });
    button.className = "pause";
    button.style.visibility = isLast || QUIET.matches ? "hidden" : "";
    return button;
  }

  turnHeads() {
    this.isOff = !this.isOff;
    this.show(this.at);
  }
}
