// Attention in 45 seconds, told on the live picture: all but what is spoken of is dimmed, and nothing is covered that
// can be clicked. Numbers are the run's. Each frame goes on by its button, by Space, or by doing what it asks.
const TOKEN_TIME = 60; // milliseconds, as are the next
const SWEEP_TIME = 420;
const COUNT_TIME = 700;
const LAYER_TIME = 160;
const HOVERS = matchMedia("(hover: hover)"); // with a mouse, and so a keyboard
const HARDLY = 0.1; // of probability

/** @typedef {[label: string, chance: number, shown: string]} Guess */
/** @typedef {{ query: number, key: number, weight: number, found: boolean, labels: [string, string] }} MinuteRow */
/**
 * @typedef {{ tokens: number, layers: number, heads: number, guesses: Guess[], head: string, rows: MinuteRow[],
 *   copying: string[], after: { chance: [number, string], guesses: Guess[] }, examples: [title: string, name: string][]
 * }} MinuteProps of frame/first_minute.py
 */
/** @typedef {{ end: () => void, more: () => void, open: (example: string) => void }} MinuteActs */

class FirstMinute {
  at = -1; // the frame
  /** @type {MinuteProps} */
  data;
  /** @type {Timer} */
  following;
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
    this.place = () => this.stage.follow();
  }

  get isOpen() {
    return this.at >= 0;
  }

  /** @param {MinuteProps} data */
  start(data) {
    this.close();
    this.data = data;
    this.said = "";
    for (const part of this.parts) part.hidden = false;
    document.addEventListener("keydown", this.hear, true);
    for (const event of ["scroll", "resize"]) addEventListener(event, this.place, true);
    this.following = setInterval(this.place, 100);
    this.show(0);
  }

  close() {
    if (!this.isOpen) return;
    this.leaveFrame();
    this.at = -1;
    this.isOff = false;
    clearInterval(this.following);
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
    this.view.link.send("hover", null);
    this.view.link.send("plain", false);
  }

  /** @param {number} at */
  show(at) {
    this.leaveFrame();
    this.at = at;
    const frame = this.frames[at];
    this.card.replaceChildren(this.head(), ...frame.body(), this.foot());
    document.querySelector(`.st-key-headlight-${frame.parts[0]}`)?.scrollIntoView({ block: innerWidth < 700 ? "start" : "nearest" });
    this.stage.shown = frame.parts;
    frame.play?.();
    this.stage.follow();
    this.view.announce(frame.body().map((each) => each.textContent).join(" "));
  }

  /** @type {{ parts: string[], body: () => HTMLElement[], play?: () => void }[]} */
  get frames() {
    return [
      { parts: ["strip"], body: () => this.asks(), play: () => this.write() },
      { parts: ["strip"], body: () => this.answers(), play: () => this.rest() },
      { parts: ["strip"], body: () => this.looks(), play: () => this.count() },
      { parts: ["strip", "heads"], body: () => this.sweeps(), play: () => this.sweep() },
      { parts: ["grid"], body: () => this.counts(), play: () => this.unfold() },
      { parts: ["strip", "grid"], body: () => this.switches(), play: () => this.draw() },
      { parts: ["prompt"], body: () => this.yours(), play: () => this.offer() },
    ];
  }

  head() {
    const { at } = this;
    const head = element("div", "minute-head");
    const dots = this.frames.map((_, place) => element("span", place === at ? "step now" : "step"));
    const skip = buttonOf("Skip", () => this.acts.end());
    const more = buttonOf("What else is here", () => this.acts.more());
    head.append(...dots, more, skip);
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
    foot.append(element("span", "count", isLast || !HOVERS.matches ? "" : "Space goes on"), back, next);
    return foot;
  }

  // 1. The text, and a question.
  asks() {
    const [[answer], ...others] = this.data.guesses;
    const offered = [answer, others[1]?.[0] ?? "", others[2]?.[0] ?? ""].filter(Boolean).sort();
    const chips = element("div", "offers");
    for (const label of offered) {
      const chip = buttonOf(word(label), () => {
        this.said = label;
        this.show(1);
      });
      chips.append(chip);
    }
    return [
      say("A language model reads these ", `${this.data.tokens} tokens`, " and guesses the next one."),
      say("What would you say?"),
      chips,
    ];
  }

  write() {
    this.stage.cover(() => stripParts().prediction, whole, "guess", "?");
    this.rest();
    if (QUIET.matches) return;
    stripParts().chips.forEach((chip, place) => {
      const cover = this.stage.cover(() => chip, whole);
      this.stage.later(place * TOKEN_TIME, () => this.stage.uncover(cover));
    });
  }

  // 2. What it guesses.
  answers() {
    const [[label, , shown], ...others] = this.data.guesses;
    const verdict = this.said === label ? "So does the model: " : `${this.said ? `You said ${word(this.said)}. ` : ""}The model says `;
    const rest = others.map(([other, , chance]) => `${word(other)} ${chance}`).join(", ");
    return [say(verdict, word(label), `, with ${shown}. How does it know?`), muted(`Then: ${rest}.`)];
  }

  // The text alone, without where the head looks.
  rest() {
    this.view.link.send("plain", true);
  }

  // 3. Where one head looks from the last token.
  looks() {
    const row = this.last;
    const [here, there] = row.labels.map(word);
    return [
      say("To guess, each token looks back at earlier ones. The head ", this.data.head, ", from ", here, ", puts ", "", " of its attention on ", there, `: the word that followed ${here} the first time.`),
      muted("Point at any word: the lines follow."),
    ];
  }

  get last() {
    return /** @type {MinuteRow} */ (this.data.rows.at(-1));
  }

  count() {
    const { last } = this;
    this.view.link.send("hover", { query: last.query, key: null });
    const shown = /** @type {HTMLElement} */ (this.card.querySelector("p")?.children[2]);
    this.stage.animate(COUNT_TIME, (share) => (shown.textContent = percentOf(share * last.weight)));
  }

  // 4. Each repeated word in turn.
  sweeps() {
    const { rows, head } = this.data;
    const lost = rows.filter((row) => !row.found);
    const rests = lost.length > 0 && lost.every(({ key }) => key === 0) ? "; where it finds nothing, it rests on the first token" : "";
    return [
      say("Each word in turn. ", "One row of the picture is one word looking back."),
      say(`The diagonal stripe is the pattern: find the earlier copy, read what came next. ${head} finds ${rows.length - lost.length} of ${rows.length}${rests}.`),
      element("p", "muted pair", ""),
    ];
  }

  sweep() {
    const { rows } = this.data;
    const shown = /** @type {HTMLElement} */ (this.card.querySelector(".pair"));
    /** @param {MinuteRow} row */
    const point = ({ query, key, labels: [from, to], weight }) => {
      this.view.link.send("hover", { query, key: null });
      shown.textContent = `${word(from)} → ${word(shortLabel(to, key))} ${weight.toFixed(2)}`;
    };
    if (QUIET.matches) return point(this.last);
    rows.forEach((row, place) => this.stage.later(400 + place * SWEEP_TIME, () => point(row)));
  }

  // 5. All heads.
  counts() {
    const { heads, layers } = this.data;
    return [
      say("The model has ", `${heads} such heads`, `, in ${layers} layers. Some copy, some look one step back, some rest on the first token.`),
      muted("Click any picture: it opens."),
    ];
  }

  unfold() {
    const { layers } = this.data;
    if (QUIET.matches) return;
    for (let layer = 0; layer < layers; layer++) {
      const cover = this.stage.cover(board, ({ left, top, width, height }) => [left, top + (layer * height) / layers, width, height / layers]);
      this.stage.later((layer + 1) * LAYER_TIME, () => this.stage.uncover(cover));
    }
  }

  // 6. Without the heads that copy.
  switches() {
    const { copying, guesses, after } = this.data;
    const [[label, before, shown]] = guesses;
    const names = copying.join(" and ");
    const turn = buttonOf(this.isOff ? "On again" : `Switch off ${names}`, () => {
      this.isOff = !this.isOff;
      this.show(this.at);
    });
    turn.className = "switch-heads";
    if (!this.isOff) return [say(`Does it matter? Switch the ${copying.length === 1 ? "copying head" : `${copying.length} copying heads`} off.`), turn];
    const fell = before - after.chance[0] < HARDLY ? "hardly moves: from" : "falls from";
    const [[now]] = after.guesses;
    const next = now === label ? "" : ` The model now guesses ${word(now)}.`;
    return [say("", word(label), ` ${fell} ${shown} to `, after.chance[1], `.${next}`), turn];
  }

  draw() {
    if (!this.isOff) return;
    this.rest();
    const { copying, guesses, after, layers, heads } = this.data;
    const across = heads / layers;
    for (const [layer, head] of copying.flatMap((name) => headsIn(name)))
      this.stage.cover(board, ({ left, top, width, height }) => [left + (head * width) / across, top + (layer * height) / layers, width / across, height / layers], "off");
    const [[label, before]] = guesses;
    const chip = this.stage.cover(() => stripParts().prediction, whole, "guess");
    this.stage.animate(COUNT_TIME, (share) => (chip.textContent = `${bare(label)} ${percentOf(before + share * (after.chance[0] - before))}`));
  }

  // 7. One's own text.
  yours() {
    const chips = element("div", "offers");
    for (const [title, name] of this.data.examples) chips.append(buttonOf(title, () => (this.acts.end(), this.acts.open(name))));
    return [say("Now your own text. Repeat a word and see who notices."), muted("Or an example:"), chips];
  }

  offer() {
    if (!HOVERS.matches) return; // a keyboard would come up over the page
    const prompt = document.querySelector(".st-key-headlight-bar textarea");
    if (prompt instanceof HTMLTextAreaElement) {
      prompt.focus({ preventScroll: true });
      prompt.select();
    }
  }
}
