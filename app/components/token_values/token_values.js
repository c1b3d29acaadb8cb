// Tokens in reading order, each coloured by its number; one of them is chosen, by hand or by key.
const TOKEN_KEYS = { ArrowRight: 1, ArrowLeft: -1 };

/** @typedef {{ title: string, signed: boolean, lines: string[] }} TokenValuesProps of token_values/__init__.py */

/** @implements {Component} */
class TokenValues {
  listeners = {};
  /** @type {HTMLElement[][]} */
  chips = []; // of each line
  /** @type {number | null} */
  chosen = null;
  cursor = 0; // the token where the keyboard is
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
    this.labels = JSON.parse(new TextDecoder().decode(/** @type {Bytes} */ (arrays.labels).values));
    this.values = /** @type {Floats} */ (arrays.values);
    const largest = this.values.values.reduce((most, value) => Math.max(most, Math.abs(value) || 0), 0);
    this.scale = new ColourScale({ signed: props.signed, root: "sqrt", limit: scaleEnd(largest) });
    this.cursor = 0;
    this.chips = props.lines.map((_, line) => this.labels.map((label, place) => this.chip(line, place, label)));
    this.lines.replaceChildren(...props.lines.map((name, line) => this.line(name, line)));
  }

  /** @param {number} line @param {number} place @param {string} label */
  chip(line, place, label) {
    const chip = element("span", "chip", label);
    chip.id = `value-${line}-${place}`;
    chip.setAttribute("role", "option");
    return chip;
  }

  /** @param {string} name @param {number} line */
  line(name, line) {
    const list = element("div", "chips");
    list.tabIndex = 0;
    list.setAttribute("role", "listbox");
    const called = [this.props.title, name].filter(Boolean).join(", ");
    list.ariaLabel = `Tokens, coloured by ${called}. Arrow keys move, Enter chooses.`;
    list.append(...this.chips[line]);
    list.onpointerover = (event) => this.pointAt(line, this.chips[line].indexOf(targetOf(event)), event.clientX, event.clientY);
    list.onpointermove = (event) => this.view.tooltip.move(event.clientX, event.clientY);
    list.onpointerleave = () => this.leave();
    list.onblur = () => this.leave();
    list.onclick = (event) => this.choose(this.chips[line].indexOf(targetOf(event)));
    list.onkeydown = (event) => this.press(event, line, list);
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
        const colour = value ? scale.colour(theme, value) : null; // of zero none, and none of what is no number
        chip.classList.toggle("absent", Number.isNaN(value));
        chip.style.background = colour ? cssColour(colour) : "";
        chip.style.color = colour ? inkOn(colour) : "";
      }),
    );
    this.mark();
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
  }

  /** @param {number} line @param {number} place @param {number} x @param {number} y */
  pointAt(line, place, x, y) {
    if (place >= 0) this.view.tooltip.show(x, y, this.props.title, this.describe(line, place));
  }

  /** @param {number} line @param {number} place @returns {TooltipRow[]} */
  describe(line, place) {
    const value = this.value(line, place);
    const told = Number.isNaN(value) ? "not in this run" : this.props.signed ? withSign(value) : plainNumber(value);
    return [[`token ${place}`, this.labels[place]], [this.props.lines[line] || "value", told]];
  }

  /** @param {KeyboardEvent} event @param {number} line @param {HTMLElement} list */
  press(event, line, list) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = TOKEN_KEYS[/** @type {keyof typeof TOKEN_KEYS} */ (event.key)];
    if (step) this.move(line, step, list);
    else if (event.key === "Enter") this.choose(this.cursor);
    else if (event.key === "Escape") this.leave();
    else return;
    event.preventDefault();
  }

  /** @param {number} line @param {number} step @param {HTMLElement} list */
  move(line, step, list) {
    this.cursor = clamp(this.cursor + step, 0, this.labels.length - 1);
    const chip = this.chips[line][this.cursor];
    list.setAttribute("aria-activedescendant", chip.id);
    chip.scrollIntoView({ block: "nearest" });
    const { right, bottom } = chip.getBoundingClientRect();
    this.pointAt(line, this.cursor, right, bottom);
    this.view.announce(this.describe(line, this.cursor).flat().join(" "));
  }

  leave() {
    this.view.tooltip.hide();
  }
}
