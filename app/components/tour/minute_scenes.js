// What the frames of the first minute say and show.
const TOKEN_TIME = 60; // milliseconds, as are the next
const SWEEP_TIME = 420;
const COUNT_TIME = 700;
const HEAD_TIME = 40;
const UNFOLD_TIME = 1200; // at most, for all heads
const KIND_TIME = 1600;
const HARDLY = 0.1; // of probability

/**
 * @typedef {{ parts: string[], body: () => HTMLElement[], play: () => void, then: () => void, time?: number,
 *   isBright?: boolean, opens?: boolean }} MinuteFrame its seconds, what follows them, and whether pictures open in it
 */

class MinuteScenes {
  /** @param {FirstMinute} minute */
  constructor(minute) {
    this.minute = minute;
    this.view = minute.view;
    this.card = minute.card;
    this.stage = minute.stage;
  }

  get data() {
    return this.minute.data;
  }

  /** @returns {MinuteFrame[]} */
  get all() {
    const then = () => this.minute.show(this.minute.at + 1);
    const off = { time: 4, then: () => this.minute.turnHeads() };
    return [
      { time: 5, parts: ["strip"], body: () => this.asks(), play: () => this.write(), then },
      { time: 4, parts: ["strip"], body: () => this.answers(), play: () => this.guess(), then },
      { time: 8, parts: ["strip"], body: () => this.looks(), play: () => this.count(), then },
      { time: 10, parts: ["strip", "panel"], body: () => this.sweeps(), play: () => this.sweep(), then },
      { time: 8, parts: ["grid"], opens: true, body: () => this.counts(), play: () => this.unfold(), then },
      { time: 7, parts: ["strip", "grid"], body: () => this.switches(), play: () => this.draw(), then, ...(this.minute.isOff ? {} : off) },
      { parts: ["prompt"], isBright: true, body: () => this.yours(), play: () => this.offer(), then },
    ];
  }

  // 1. The text, and a question.
  asks() {
    const [[answer], ...others] = this.data.guesses;
    const offered = [answer, others[1]?.[0] ?? "", others[2]?.[0] ?? ""].filter(Boolean).sort();
    const sign = stripParts().chips[0]?.textContent ?? "";
    const chips = element("div", "offers");
    for (const label of offered) {
      const chip = buttonOf(word(label), () => {
        this.minute.said = label;
        this.minute.show(1);
      });
      chips.append(chip);
    }
    return [
      element("strong", "", "Attention in 45 seconds"),
      say("A language model reads these ", `${this.data.tokens} tokens`, " and guesses the next one."),
      muted(`A token is a word or a piece of one.${sign.startsWith("⟨") ? ` ${sign} marks the beginning.` : ""}`),
      say("What would you say?"),
      chips,
    ];
  }

  write() {
    this.stage.cover(predicted, "guess", "?");
    this.rest();
    if (QUIET.matches) return;
    stripParts().chips.forEach((chip, place) => {
      const cover = this.stage.cover(() => chip.getBoundingClientRect());
      this.stage.later(place * TOKEN_TIME, () => this.stage.uncover(cover));
    });
  }

  // 2. What it guesses.
  answers() {
    const [[label, , shown]] = this.data.guesses;
    const verdict = this.minute.said === label ? "So does the model: " : `${this.minute.said ? `You said ${word(this.minute.said)}. ` : ""}The model says `;
    return [say(verdict, word(label), `, with a probability of ${shown}. How does it know?`)];
  }

  guess() {
    this.rest();
    coverWithGuesses(this.stage, this.data.guesses.slice(1));
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
      say("To guess, the model looks back. From ", here, ", one of its ", "heads", `, ${this.data.head}, puts `, "", " of its attention on ", there, `: what came after ${here} the first time.`),
      muted(`A head decides for each token which earlier ones to read. ${pointAt()} any word: the lines follow.`),
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
    const rests = lost.length > 0 && lost.every(({ key }) => key === 0) ? "; from the others it rests on the first token" : "";
    return [
      say("Each word in turn. ", "One row of the picture is one word looking back."),
      say(`The diagonal stripe is what ${head} does: find the earlier copy, read what came next. It does so from ${rows.length - lost.length} of ${rows.length} repeated tokens${rests}.`),
      element("p", "muted pair", ""),
      ...(innerWidth < 700 ? [this.thumbnail("rows")] : []),
    ];
  }

  // Word by word, and the picture row by row.
  sweep() {
    const { rows, tokens } = this.data;
    const shown = /** @type {HTMLElement} */ (this.card.querySelector(".pair"));
    const picture = this.card.querySelector(".rows");
    /** @param {number} drawn */
    const draw = (drawn) => {
      this.view.link.send("rows", drawn);
      picture?.setAttribute("style", `clip-path: inset(0 0 ${100 - (100 * drawn) / tokens}% 0)`);
    };
    /** @param {MinuteRow} row */
    const point = ({ query, key, labels: [from, to], weight }) => {
      draw(query + 1);
      this.view.link.send("hover", { query, key: null });
      shown.textContent = `${word(from)} → ${word(to, key)} ${weight.toFixed(2)}`;
    };
    if (QUIET.matches) return point(this.last);
    draw(rows[0].query);
    rows.forEach((row, place) => this.stage.later(SWEEP_TIME * (place + 1), () => point(row)));
  }

  // Where a head's picture stands in the grid.
  /** @param {string} topic @param {HeadIndex} head @returns {Crop | undefined} */
  crop(topic, head) {
    return /** @type {Crop | undefined} */ (this.view.link.send(topic, head).find(Boolean));
  }

  // The head's picture within the card, where the window has no room for it beside the text.
  /** @param {string} className */
  thumbnail(className) {
    const picture = this.crop("thumbnail", headsIn(this.data.head)[0])?.picture ?? element("canvas");
    picture.className = className;
    return picture;
  }

  // 5. All heads.
  counts() {
    const { heads, layers, kinds } = this.data;
    const line = say("The model has ", `${heads} heads`, `, in ${layers} layers. On this text`);
    kinds.forEach((kind, at) => line.append(at === 0 ? " " : at === kinds.length - 1 ? " and " : ", ", this.kindButton(kind)));
    line.append(".");
    return [line, muted(`${pointAt()} these words to see which heads. ${HOVERS.matches ? "Click" : "Tap"} any picture: it opens.`)];
  }

  // Heads in words, which stand out in the grid while one points at them.
  /** @param {HeadKind} kind */
  kindButton([does, names]) {
    const show = () => this.standOut(button, headsIn(...names));
    const button = buttonOf(`${names.length} ${does}`, show);
    button.className = "kind";
    button.onpointerenter = button.onfocus = show;
    button.onpointerleave = button.onblur = () => this.standOut(null, null);
    return button;
  }

  /** @param {HTMLElement | null} button @param {HeadIndex[] | null} heads */
  standOut(button, heads) {
    this.view.link.send("role", heads);
    for (const each of this.card.querySelectorAll(".kind")) each.classList.toggle("now", each === button);
  }

  // Kind after kind, unless one points at something oneself.
  /** @param {number} since milliseconds from now */
  standOutInTurn(since) {
    const buttons = [...this.card.querySelectorAll(".kind")].filter((each) => each instanceof HTMLElement);
    /** @param {number} at @param {HTMLElement | null} button @param {HeadIndex[] | null} heads */
    const later = (at, button, heads) => this.stage.later(since + KIND_TIME * at, () => this.minute.clock.isHeld || this.standOut(button, heads));
    this.data.kinds.forEach(([, names], at) => later(at, buttons[at], headsIn(...names)));
    later(buttons.length, null, null);
  }

  // The head that was spoken of goes to its place, and the others appear around it.
  async unfold() {
    const { layers, heads, head: name } = this.data;
    if (QUIET.matches) return;
    const [spoken] = headsIn(name);
    const all = upTo(heads).map((each) => /** @type {HeadIndex} */ ([Math.floor((each * layers) / heads), each % (heads / layers)]));
    const covers = all.map((head) => this.stage.cover(() => this.crop("thumbnail", head)?.rect));
    const { scene } = this.stage;
    const [from, to] = [this.crop("matrix", spoken), this.crop("thumbnail", spoken)];
    if (from && to) await fly(from, to.rect, 1.5 * FLIGHT_TIME);
    if (this.stage.scene !== scene) return;
    const first = all.findIndex((head) => headName(head) === name);
    this.stage.uncover(covers[first]);
    const pace = Math.min(HEAD_TIME, UNFOLD_TIME / heads);
    covers.forEach((cover, place) => this.stage.later(pace * (place + 1), () => this.stage.uncover(cover)));
    this.standOutInTurn(pace * (heads + 1));
  }

  // 6. Without the heads that copy.
  switches() {
    const { copying, guesses, after } = this.data;
    const [[label, before, shown]] = guesses;
    const names = copying.join(" and ");
    const turn = buttonOf(this.minute.isOff ? "On again" : `Switch off ${names}`, () => this.minute.turnHeads());
    turn.className = "switch-heads";
    if (!this.minute.isOff) return [say(`Does it matter? Switch off the ${copying.length === 1 ? "one that finds" : `${copying.length} that find`} the copy.`), turn];
    const fell = before - after.chance[0] < HARDLY ? "hardly moves: from" : "falls from";
    const [[now]] = after.guesses;
    const next = now === label ? "" : ` The model now guesses ${word(now)}.`;
    return [say("", word(label), ` ${fell} ${shown} to `, after.chance[1], `.${next}`), turn];
  }

  draw() {
    if (!this.minute.isOff) return;
    this.rest();
    const { copying, guesses, after } = this.data;
    for (const head of headsIn(...copying)) this.stage.cover(() => this.crop("thumbnail", head)?.rect, "off");
    const [[label, before]] = guesses;
    const chip = this.stage.cover(predicted, "guess");
    this.stage.animate(COUNT_TIME, (share) => (chip.textContent = `${bare(label)} ${percentOf(before + share * (after.chance[0] - before))}`));
    coverWithGuesses(this.stage, after.guesses.filter(([other]) => other !== label).slice(0, guesses.length - 1));
  }

  // 7. One's own text.
  yours() {
    const chips = element("div", "offers");
    for (const [title, name] of this.data.examples) chips.append(buttonOf(title, () => (this.minute.acts.end(), this.minute.acts.open(name))));
    const on = element("div", "offers");
    on.append(
      buttonOf("Lesson: what an induction head is", () => (this.minute.acts.end(), this.minute.acts.learn())),
      buttonOf("What else is here", () => this.minute.acts.more()),
    );
    return [say("", "Now your own text.", " Repeat a word and see which heads find it."), muted("Or an example:"), chips, muted("Or go on:"), on];
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
