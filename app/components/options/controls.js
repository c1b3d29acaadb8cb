// The browser's own controls, each with a label and what explains it: those of which something is chosen.
const MAX_AT_ONCE = 100; // options of a list

/** @typedef {{ kind: string, name: string, label: string }} Look what every kind of kinds.py sends, but for its help */
/** @typedef {[name: string, start: number][]} Groups of options, by the place that each begins at */
/** @typedef {Look & { options: string[], width: number, groups: Groups }} ChoiceLook a choice has no width and no groups */
/** @typedef {any} OptionValue of what type is its kind's to say */

/** @template {HTMLElement} Input */
class Control {
  delay = 0;
  /** @type {OptionValue} */
  current;
  /** @type {Explained | undefined} */
  explanation;

  /** @param {Look} look @param {(value: OptionValue) => void} choose */
  constructor(look, choose) {
    this.look = JSON.stringify(look);
    this.choose = (/** @type {OptionValue} */ value) => {
      this.current = value;
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

  // What is chosen, in a line with others.
  get summary() {
    return `${this.label.textContent} ${this.current ?? ""}`;
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
    this.explanation ??= new Explained(tooltip, this.label);
    this.explanation.tell(this.label.textContent, help);
    this.input.ariaDescription = help;
  }

  // What the user is typing stays, unless something else than before is to be shown.
  /** @param {OptionValue} value */
  show(value) {
    if (JSON.stringify(value) !== JSON.stringify(this.current)) this.reset(value);
  }

  /** @param {OptionValue} value */
  reset(value) {
    this.current = value;
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
      const segment = element("label", "segment bordered");
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
// long list has its current option alone until the user turns to it.
/** @extends {Control<HTMLSelectElement>} */
class List extends Control {
  /** @param {ChoiceLook} look */
  make({ options, width, groups }) {
    const list = element("select");
    this.element.style.setProperty("--width", `${width}px`);
    list.onchange = () => this.choose(list.value);
    this.filled = options.length <= MAX_AT_ONCE;
    this.element.classList.toggle("grows", this.filled); // the browser knows how wide all of them are
    if (this.filled) list.append(...inGroups(options, groups));
    else for (const event of ["pointerdown", "focus"]) list.addEventListener(event, () => this.fill(options, groups));
    return list;
  }

  /** @param {string[]} options @param {Groups} groups */
  fill(options, groups) {
    if (this.filled) return;
    this.filled = true;
    this.input.replaceChildren(...inGroups(options, groups));
    this.set(this.current);
  }

  /** @param {OptionValue} value */
  set(value) {
    const text = value ?? "";
    if (!this.filled) this.input.replaceChildren(new Option(text, text));
    this.input.value = text;
  }
}

// The options of a list, those of a group under its name.
/** @type {(options: string[], groups: Groups) => HTMLElement[]} */
function inGroups(options, groups) {
  const made = options.map((text) => new Option(text, text));
  const named = groups.map(([name, start], index) => {
    const group = Object.assign(element("optgroup"), { label: name });
    group.append(...made.slice(start, groups[index + 1]?.[1]));
    return group;
  });
  return [...made.slice(0, groups[0]?.[1]), ...named];
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

  get summary() {
    return `${this.current ? "" : "no "}${this.label.textContent}`;
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
