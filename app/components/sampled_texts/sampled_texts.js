// Texts one under the other, in groups; one of them is chosen.
const HOW_TO = "Arrow up and down move between sequences, left and right between tokens, Enter chooses, Escape none.";

/** @implements {Component} */
class SampledTexts {
  /** @type {ShownText[]} */
  texts = [];
  /** @type {number | null} */
  chosen = null;
  cursor = 0; // the text where the keyboard is
  isNew = false;

  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.legend = element("div", "legend");
    this.list = widget("sequences", "listbox");
    onKeys(this.list, {
      ArrowDown: () => this.walk(1),
      ArrowUp: () => this.walk(-1),
      ArrowRight: () => this.texts[this.cursor]?.move(1),
      ArrowLeft: () => this.texts[this.cursor]?.move(-1),
      Enter: () => this.texts.length > 0 && this.choose(this.cursor),
      Escape: () => this.chosen !== null && this.choose(this.chosen),
    });
    this.list.onblur = () => this.texts[this.cursor]?.rest();
    view.root.append(this.legend, this.list);
  }

  /** @param {{ title: string }} props @param {Arrays} arrays */
  update({ title }, arrays) {
    /** @type {Sample[]} */
    const samples = readJson(/** @type {Bytes} */ (arrays.texts).values);
    this.texts = samples.map((sample, place) => {
      const of = (/** @type {string} */ name) => /** @type {any} */ (arrays[`${place}.${name}`].values);
      return new ShownText(this, place, sample, { queries: of("queries"), keys: of("keys"), weights: of("weights") });
    });
    this.list.ariaLabel = `${title}. ${HOW_TO}`;
    const rows = this.texts.flatMap(({ box, sample }, place) =>
      sample.group === this.texts[place - 1]?.sample.group ? [box] : [element("h3", "", sample.group), box],
    );
    this.list.replaceChildren(...rows);
    this.cursor = 0;
    this.isNew = true;
  }

  /** @param {number | null} chosen */
  setValue(chosen) {
    this.chosen = chosen !== null && chosen < this.texts.length ? chosen : null;
    this.cursor = this.chosen ?? 0;
    this.mark();
  }

  /** @param {Theme} theme */
  draw(theme) {
    for (const text of this.texts) text.draw(theme);
    if (this.isNew) for (const text of this.texts) text.reveal();
    this.isNew = false;
    const swatch = (/** @type {string} */ words, /** @type {number} */ share) => {
      const patch = element("span", "swatch");
      patch.style.background = cssColour(colourAt(theme.diverging, share));
      return legendEntry(patch, element("span", "title", words));
    };
    if (this.texts.some(({ sample }) => sample.scale !== null)) {
      this.legend.replaceChildren(element("span", "title", "A token's colour:"), swatch("how active it is", 0.85));
      return;
    }
    this.legend.replaceChildren(
      element("span", "title", "Point at a token:"),
      swatch("where it attends", 0.85),
      swatch("what attends to it", 0.15),
    );
  }

  mark() {
    for (const { box, place } of this.texts) {
      box.classList.toggle("chosen", place === this.chosen);
      box.ariaSelected = String(place === this.chosen);
    }
  }

  /** @param {number} place */
  choose(place) {
    this.cursor = place;
    this.chosen = this.chosen === place ? null : place;
    this.mark();
    this.view.report(this.chosen);
  }

  /** @param {number} step */
  walk(step) {
    if (this.texts.length === 0) return;
    this.texts[this.cursor].rest();
    this.cursor = clamp(this.cursor + step, 0, this.texts.length - 1);
    const { box, sample } = this.texts[this.cursor];
    box.scrollIntoView({ block: "nearest" });
    this.list.setAttribute("aria-activedescendant", box.id);
    this.view.announce(`${sample.group} ${sample.title} ${sample.note}`);
  }

  leave() {
    for (const text of this.texts) if (text.cursor !== null) text.rest();
  }
}
