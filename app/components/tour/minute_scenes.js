// What the frames of the first minute say and show.
const TOKEN_TIME = 60; // milliseconds, as are the next
const SWEEP_TIME = 420;
const COUNT_TIME = 700;
const HEAD_TIME = 40;
const UNFOLD_TIME = 1200; // at most, for all heads
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
      { time: 6, parts: ["strip"], body: () => this.asks(), play: () => this.write(), then },
      { time: 4, parts: ["strip"], body: () => this.answers(), play: () => this.guess(), then },
      { time: 8, parts: ["strip"], body: () => this.looks(), play: () => this.count(), then },
      { time: 10, parts: ["strip", "panel"], body: () => this.sweeps(), play: () => this.sweep(), then },
      { time: 6, parts: ["grid"], opens: true, body: () => this.counts(), play: () => this.unfold(), then },
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
    return [say(verdict, word(label), `, with ${shown}. How does it know?`)];
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
      shown.textContent = `${word(from)} → ${word(shortLabel(to, key))} ${weight.toFixed(2)}`;
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
    const { heads, layers } = this.data;
    return [
      say("The model has ", `${heads} such heads`, `, in ${layers} layers. Some copy, some look one step back, some rest on the first token.`),
      muted("Click any picture: it opens."),
    ];
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
  }

  // 6. Without the heads that copy.
  switches() {
    const { copying, guesses, after } = this.data;
    const [[label, before, shown]] = guesses;
    const names = copying.join(" and ");
    const turn = buttonOf(this.minute.isOff ? "On again" : `Switch off ${names}`, () => this.minute.turnHeads());
    turn.className = "switch-heads";
    if (!this.minute.isOff) return [say(`Does it matter? Switch the ${copying.length === 1 ? "copying head" : `${copying.length} copying heads`} off.`), turn];
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
    const lesson = buttonOf("What an induction head is: 15 minutes", () => (this.minute.acts.end(), this.minute.acts.learn()));
    const learn = element("div", "offers");
    learn.append(lesson);
    return [
      say("Now your own text. Repeat a word and see who notices."),
      muted("Or an example:"),
      chips,
      muted("Or a lesson, which asks and checks:"),
      learn,
    ];
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
