// The controls in which something is typed or slid, the button, and all controls by their kinds.
/** @typedef {Look & { placeholder: string, width: number, offered: string[], labels?: Record<string, string> }} LineLook
    a line offers nothing */
/** @typedef {Look & { least: number, most: number, step: number, placeholder: string, width: number }} NumberLook */
/** @typedef {Look & { disabled: boolean, opened?: boolean | null }} ButtonLook */

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
    line.className = "opens-list";
    /** @type {string[]} */
    this.offered = look.offered;
    /** @type {Record<string, string>} */
    this.labels = look.labels ?? {};
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
      if (!line.value.trim()) this.set(this.current);
      this.showEnd();
    };
    return line;
  }

  // Of a long path the end tells what it is; the browser itself goes back to the beginning when the line loses the focus.
  showEnd() {
    requestAnimationFrame(() => {
      if (!this.input.matches(":focus")) this.input.scrollLeft = this.input.scrollWidth;
    });
  }

  place() {
    super.place();
    const list = element("datalist");
    list.id = this.input.getAttribute("list") ?? "";
    list.append(...this.offered.map((text) => new Option(this.labels[text] ?? text, text)));
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
    this.showEnd();
  }
}

// What is typed or picked joins the chosen ones, which are buttons before the line that take themselves out again.
class Several extends Suggested {
  /** @param {LineLook & { options: string[] }} look */
  make(look) {
    /** @type {HTMLSpanElement} */
    this.chosen = element("span", "chosen");
    this.chosen.onclick = (event) => this.takeOut([...this.chosen.children].indexOf(targetOf(event)));
    const line = super.make({ ...look, offered: look.options });
    line.onchange = () => this.add(line.value);
    line.onblur = null;
    line.oninput = (event) => {
      const { inputType = "" } = /** @type {InputEvent} */ (event);
      if (["", "insertReplacementText"].includes(inputType)) this.add(line.value); // picked from the browser's list
    };
    line.onkeydown = ({ key }) => {
      if (key === "Backspace" && line.value === "" && this.current.length > 0) this.takeOut(this.current.length - 1);
    };
    return line;
  }

  place() {
    super.place();
    this.title.after(this.chosen);
  }

  // The first that is, or else begins with, what was typed.
  /** @param {string} typed */
  add(typed) {
    const text = this.offered.find((each) => each === typed) ?? this.offered.find((each) => typed && each.startsWith(typed));
    if (text && !this.current.includes(text)) this.choose([...this.current, text]);
    this.set(this.current);
  }

  /** @param {number} place */
  takeOut(place) {
    if (place < 0) return;
    this.choose(this.current.filter((/** @type {string} */ _, /** @type {number} */ at) => at !== place));
    this.set(this.current);
    this.input.focus();
  }

  /** @param {string[]} texts */
  set(texts) {
    super.set("");
    this.chosen.replaceChildren(...texts.map((text) => this.chip(text)));
    if (texts.length > 0) this.input.placeholder = "";
  }

  /** @param {string} text */
  chip(text) {
    const chip = element("button", "", text);
    chip.type = "button";
    chip.ariaLabel = `remove ${text}`;
    return chip;
  }
}

/** @extends {Control<HTMLInputElement>} */
class Numeral extends Control {
  delay = HELD_KEY_DELAY;

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
  delay = HELD_KEY_DELAY;

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
    this.input = element("button", look.kind === "button" ? "bordered" : "");
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
  several: Several,
  suggested: Suggested,
  number: Numeral,
  slider: Slider,
  button: Button,
  link: Button,
};
