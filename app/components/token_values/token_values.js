// Tokens in reading order, each coloured by its number; one of them is chosen, by hand or by key.

/** @typedef {{ title: string, signed: boolean, lacks: string, unit: string, least: number,
 *   lines: string[], turns: TurnStarts, leadsTo?: string }} TokenValuesProps
 * of token_values/__init__.py */

/** @implements {Component} */
class TokenValues {
  /** @type {HTMLElement[][]} */
  chips = []; // of each line
  /** @type {number | null} */
  chosen = null;
  cursor = 0; // the token where the keyboard is
  isNew = false; // and its chosen token not in sight yet
  /** @type {TokenValuesProps} */
  props;
  /** @type {string[]} */
  labels;
  /** @type {Floats} */
  values;

  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.legend = element("div", "legend");
    this.lines = element("div", "lines");
    view.root.append(this.legend, this.lines);
  }

  /** @param {TokenValuesProps} props @param {Arrays} arrays */
  update(props, arrays) {
    this.props = props;
    this.labels = readJson(/** @type {Bytes} */ (arrays.labels).values);
    this.values = /** @type {Floats} */ (arrays.values);
    const largest = this.values.values.reduce((most, value) => Math.max(most, Math.abs(value) || 0), props.least);
    this.scale = new ColourScale({ signed: props.signed, root: "sqrt", limit: scaleEnd(largest) });
    this.cursor = 0;
    this.isNew = true;
    this.lines.classList.toggle("tall", props.unit !== "token");
    this.chips = props.lines.map((_, line) =>
      this.labels.map((label, place) => optionOf("chip", `value-${line}-${place}`, shortLabel(label, place))),
    );
    this.lines.replaceChildren(...props.lines.map((name, line) => this.line(name, line)));
  }

  /** @param {string} name @param {number} line */
  line(name, line) {
    const list = widget("chips", "listbox");
    const called = [this.props.title, name].filter(Boolean).join(", ");
    list.ariaLabel = `Tokens, coloured by ${called}. Arrow keys move, Enter chooses.`;
    list.append(...this.chips[line]);
    markTurns(this.chips[line], this.props.turns);
    this.view.tooltip.follow(list, () => this.chips[line], (place) => [this.props.title, this.describe(line, place)]);
    list.onclick = (event) => this.choose(placeOf(this.chips[line], event));
    onKeys(list, {
      ArrowRight: () => this.move(line, 1, list),
      ArrowLeft: () => this.move(line, -1, list),
      Enter: () => this.choose(this.cursor),
      Escape: this.view.tooltip.hide,
    });
    const box = element("div", "line");
    box.append(...(name ? [element("span", "side", name)] : []), list);
    return box;
  }

  /** @param {number} line @param {number} place */
  value(line, place) {
    return this.values.values[line * this.labels.length + place];
  }

  /** @param {Theme} theme */
  draw(theme) {
    const { scale } = this;
    if (!scale) return;
    this.legend.replaceChildren(scale.bar(theme, this.props.title));
    this.chips.forEach((chips, line) =>
      chips.forEach((chip, place) => {
        const value = this.value(line, place);
        chip.classList.toggle("absent", Number.isNaN(value));
        tint(chip, value ? scale.colour(theme, value) : null); // of zero none, and none of what is no number
      }),
    );
    this.mark();
    const { isNew, chosen } = this;
    this.isNew = false;
    if (isNew && chosen !== null) this.chips.forEach((chips) => revealIn(/** @type {HTMLElement} */ (chips[0].parentElement), chips[chosen]));
  }

  /** @param {number | null} chosen */
  setValue(chosen) {
    this.chosen = chosen !== null && chosen < this.labels.length ? chosen : null;
    this.cursor = this.chosen ?? 0;
    this.mark();
  }

  mark() {
    for (const chips of this.chips)
      chips.forEach((chip, place) => {
        chip.classList.toggle("pinned", place === this.chosen);
        chip.ariaSelected = String(place === this.chosen);
      });
  }

  /** @param {number} place */
  choose(place) {
    if (place < 0) return;
    this.setValue(place);
    this.view.report(place);
    scrollToKey(this.props.leadsTo);
  }

  /** @param {number} line @param {number} place @returns {TooltipRow[]} */
  describe(line, place) {
    const value = this.value(line, place);
    const text = Number.isNaN(value) ? this.props.lacks : this.props.signed ? withSign(value) : plainNumber(value);
    return [[`${this.props.unit} ${place}`, this.labels[place]], [this.props.lines[line] || "value", text]];
  }

  /** @param {number} line @param {number} step @param {HTMLElement} list */
  move(line, step, list) {
    this.cursor = clamp(this.cursor + step, 0, this.labels.length - 1);
    const chip = this.chips[line][this.cursor];
    list.setAttribute("aria-activedescendant", chip.id);
    chip.scrollIntoView({ block: "nearest" });
    const rows = this.describe(line, this.cursor);
    this.view.tooltip.showBeside(chip, this.props.title, rows);
    this.view.announce(rows, turnAt(this.props.turns, this.cursor));
  }
}
