// The browser's own controls, each with a label and what explains it.
const MOST_AT_ONCE = 100; // options of a list
const HELD = 250; // milliseconds in which a key that is held, or a button of a number, goes on

/** @typedef {{ kind: string, name: string, label: string }} Look what every kind of kinds.py sends, but for its help */
/** @typedef {Look & { options: string[], width: number }} ChoiceLook a choice has no width */
/** @typedef {Look & { placeholder: string, width: number, offered: string[] }} LineLook a line offers nothing */
/** @typedef {Look & { least: number, most: number, step: number, placeholder: string, width: number }} NumberLook */
/** @typedef {Look & { disabled: boolean, opened?: boolean | null }} ButtonLook */
/** @typedef {any} OptionValue of what type is its kind's to say */

/** @template {HTMLElement} Input */
class Control {
  delay = 0;
  /** @type {OptionValue} */
  shown;
  /** @type {Explanation | undefined} */
  explanation;

  /** @param {Look} look @param {(value: OptionValue) => void} choose */
  constructor(look, choose) {
    this.look = JSON.stringify(look);
    this.choose = (/** @type {OptionValue} */ value) => {
      this.shown = value;
      choose(value);
    };
    this.element = element("div", `option ${look.kind}`);
    this.label = element("label", "", look.label);
    this.input = this.make(look);
    this.input.id = this.label.htmlFor = `option-${look.name}`;
    this.title = element("div", "title");
    this.title.append(this.label);
    this.place();
  }

  // The browser's control.
  /** @type {(look: any) => Input} */
  make({ kind }) {
    throw new TypeError(`No control is a ${kind}`);
  }

  // Shows a value.
  /** @param {OptionValue} value */
  set(value) {
    throw new TypeError(`Nothing shows ${value}`);
  }

  // Whether it looks so already, or does now.
  /** @param {any} look */
  becomes(look) {
    return JSON.stringify(look) === this.look;
  }

  place() {
    this.element.append(this.title, this.input);
  }

  /** @param {string} help @param {Tooltip} tooltip */
  explain(help, tooltip) {
    if (!this.explanation) {
      this.explanation = new Explanation(tooltip);
      this.label.after(this.explanation.mark);
    }
    this.explanation.tell(this.label.textContent, help);
    this.input.ariaDescription = help;
  }

  // What the user is typing stays, unless something else than before is to be shown.
  /** @param {OptionValue} value */
  show(value) {
    if (value !== this.shown) this.reset(value);
  }

  /** @param {OptionValue} value */
  reset(value) {
    this.shown = value;
    this.set(value);
  }
}

/** @extends {Control<HTMLDivElement>} */
class Choice extends Control {
  /** @param {ChoiceLook} look */
  make({ name, options }) {
    const group = element("div", "segments");
    group.setAttribute("role", "radiogroup");
    /** @type {HTMLInputElement[]} */
    this.radios = options.map((text) => {
      const radio = element("input");
      Object.assign(radio, { type: "radio", name, value: text, onchange: () => this.choose(text) });
      const segment = element("label", "segment");
      segment.append(radio, element("span", "", text));
      group.append(segment);
      return radio;
    });
    return group;
  }

  // The label is of the group, which has no value of its own.
  place() {
    this.label.id = `${this.input.id}-label`;
    this.input.setAttribute("aria-labelledby", this.label.id);
    super.place();
  }

  /** @param {OptionValue} value */
  set(value) {
    for (const radio of this.radios) radio.checked = radio.value === value;
  }
}

// All tokens of a long prompt, of which a page may have six lists, take the browser longer than the rest of the page: a
// long list is of the shown one alone until the user turns to it.
/** @extends {Control<HTMLSelectElement>} */
class List extends Control {
  /** @param {ChoiceLook} look */
  make({ options, width }) {
    const list = element("select");
    list.style.width = `${width}px`;
    list.onchange = () => this.choose(list.value);
    this.filled = options.length <= MOST_AT_ONCE;
    if (this.filled) list.append(...options.map((text) => new Option(text, text)));
    else for (const event of ["pointerdown", "focus"]) list.addEventListener(event, () => this.fill(options));
    return list;
  }

  /** @param {string[]} options */
  fill(options) {
    if (this.filled) return;
    this.filled = true;
    this.input.replaceChildren(...options.map((text) => new Option(text, text)));
    this.set(this.shown);
  }

  /** @param {OptionValue} value */
  set(value) {
    const shown = value ?? "";
    if (!this.filled) this.input.replaceChildren(new Option(shown, shown));
    this.input.value = shown;
  }
}

/** @extends {Control<HTMLInputElement>} */
class Switch extends Control {
  make() {
    const box = element("input");
    box.type = "checkbox";
    box.setAttribute("role", "switch");
    box.onchange = () => this.choose(box.checked);
    return box;
  }

  place() {
    this.element.append(this.title);
    this.title.prepend(this.input);
  }

  /** @param {OptionValue} value */
  set(value) {
    this.input.checked = value;
  }
}

/** @extends {Control<HTMLInputElement>} */
class Line extends Control {
  /** @param {LineLook} look */
  make({ placeholder, width }) {
    const line = element("input");
    Object.assign(line, { type: "text", placeholder, autocomplete: "off", spellcheck: false });
    line.style.width = `${width}px`;
    line.onchange = () => this.choose(line.value);
    return line;
  }

  /** @param {OptionValue} value */
  set(value) {
    this.input.value = value;
  }
}

// The browser lists what it finds the line's text in. One that is on offer steps back, to be seen behind an empty line,
// so that all are listed; one that was typed can be gone on with.
class Suggested extends Line {
  /** @param {LineLook} look */
  make(look) {
    const line = super.make(look);
    /** @type {string[]} */
    this.offered = look.offered;
    /** @type {string} */
    this.placeholder = look.placeholder;
    line.setAttribute("list", `offered-${look.name}`);
    line.onpointerdown = () => this.offer();
    line.onkeydown = ({ key }) => {
      if (key === "ArrowDown") this.offer();
    };
    line.onchange = () => {
      if (line.value.trim()) this.choose(line.value.trim());
    };
    line.onblur = () => {
      if (!line.value.trim()) this.set(this.shown);
    };
    return line;
  }

  place() {
    super.place();
    const list = element("datalist");
    list.id = this.input.getAttribute("list") ?? "";
    list.append(...this.offered.map((text) => new Option(text, text)));
    this.element.append(list);
  }

  offer() {
    if (!this.offered.includes(this.input.value)) return;
    this.input.placeholder = this.input.value;
    this.input.value = "";
  }

  /** @param {OptionValue} value */
  set(value) {
    super.set(value);
    this.input.placeholder = this.placeholder;
  }
}

/** @extends {Control<HTMLInputElement>} */
class Numeral extends Control {
  delay = HELD;

  /** @param {NumberLook} look */
  make({ least, most, step, placeholder, width }) {
    const numeral = element("input");
    Object.assign(numeral, { type: "number", min: least, max: most, step, placeholder, required: !placeholder });
    numeral.style.width = `${width}px`;
    numeral.onchange = () => numeral.reportValidity() && this.choose(numeral.value === "" ? null : numeral.valueAsNumber);
    return numeral;
  }

  /** @param {OptionValue} value */
  set(value) {
    this.input.value = value ?? "";
  }
}

/** @extends {Control<HTMLInputElement>} */
class Slider extends Control {
  delay = HELD;

  /** @param {NumberLook} look */
  make({ least, most, step, width }) {
    const slider = element("input");
    Object.assign(slider, { type: "range", min: least, max: most, step });
    slider.style.width = `${width}px`;
    slider.oninput = () => this.tell();
    slider.onchange = () => this.choose(slider.valueAsNumber);
    /** @type {number} */
    this.decimals = String(step).split(".")[1]?.length ?? 0;
    return slider;
  }

  place() {
    /** @type {HTMLOutputElement} */
    this.number = element("output");
    super.place();
    this.title.append(this.number);
  }

  /** @param {OptionValue} value */
  set(value) {
    this.input.value = value;
    this.tell();
  }

  tell() {
    this.number.textContent = this.input.valueAsNumber.toFixed(this.decimals);
  }
}

/** @extends {Control<HTMLButtonElement>} */
class Button extends Control {
  /** @type {string | undefined} */
  help;

  /** @param {ButtonLook} look */
  make(look) {
    this.input = element("button");
    Object.assign(this.input, { type: "button", onclick: () => this.choose(null) });
    this.becomes(look);
    return this.input;
  }

  // With other words it is the same button still, and keeps the keyboard's focus.
  /** @param {ButtonLook} look */
  becomes({ kind, label, disabled, opened = null }) {
    if (!this.element.matches(`.${kind}`)) return false;
    Object.assign(this.input, { textContent: label, disabled, ariaExpanded: opened });
    return true;
  }

  place() {
    this.element.append(this.input);
  }

  /** @param {string} help @param {Tooltip} tooltip */
  explain(help, tooltip) {
    if (help === this.help) return;
    this.help = help;
    this.input.ariaDescription = help;
    this.input.onpointerenter = ({ clientX, clientY }) => {
      if (help) tooltip.show(clientX, clientY, help, []);
    };
    this.input.onpointerleave = tooltip.hide;
  }

  set() {}
}

/** @type {Record<string, new (look: any, choose: (value: OptionValue) => void) => Control<any>>} */
const CONTROLS = {
  choice: Choice,
  list: List,
  switch: Switch,
  text: Line,
  suggested: Suggested,
  number: Numeral,
  slider: Slider,
  button: Button,
  link: Button,
};
