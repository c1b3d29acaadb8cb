// A row of options. A change is shown at once and told to the server; until the server says that it has heard of it, what
// the server sends may be older and does not undo it.
const PHONE = "(max-width: 640px)"; // windows in which all options are behind the button

/** @typedef {Look & { help: string, folded: boolean }} ToldLook */
/** @typedef {Record<string, [value: OptionValue, time: number]>} Unheard by name: a value and when (ms) it was chosen */
/**
 * @typedef {{ values: Record<string, OptionValue>, heard: number, whole: boolean, title: string, inForm: boolean,
 *   run: Record<string, OptionValue>, text: string | null }} OptionsProps
 * of options/__init__.py
 */

/** @type {(path: string | null | undefined) => string} */
const lastPart = (path) => path?.split("/").at(-1) ?? "";

/** @implements {Component} */
class Options {
  /** @type {Map<string, Control<any>>} */
  controls = new Map(); // by name
  /** @type {Unheard} */
  unheard = {};
  latest = 0; // (ms) when something was chosen
  heard = 0; // (ms) up to when the server has heard of it
  inForm = false;
  whole = false; // on a phone too
  title = ""; // of the button that opens the others, if it has one of its own
  /** @type {Record<string, OptionValue>} */
  serverValues = {};
  /** @type {Record<string, OptionValue>} */
  run = {}; // the values in what is shown, and the text of the same line
  /** @type {string | null} */
  text = null;
  /** @type {ToldLook[]} */
  looks = [];
  /** @type {Bytes | undefined} */
  packedLooks; // as they were sent
  measured = ""; // for what width and options
  fitting = 0; // how many of these have room in the row

  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.row = element("div", "options");
    this.more = element("div", "more");
    this.opener = buttonOf("", () => {});
    this.opener.className = "opener bordered";
    opens(this.opener, this.more);
    this.phone = matchMedia(PHONE);
    this.phone.onchange = () => this.arrange(); // a row that is as wide as its options is not resized by the window
    view.root.append(this.row, this.more);
    this.row.onkeydown = this.more.onkeydown = (event) => this.press(event);
  }

  // These keys submit a form, and what is typed goes with it as if it had been left before.
  /** @param {KeyboardEvent} event */
  press(event) {
    if (!this.inForm || event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    const target = targetOf(event);
    target.blur();
    target.focus();
  }

  /** @param {OptionsProps} props @param {{ looks: Bytes }} arrays */
  update({ values, heard, whole, title, inForm, run, text }, { looks }) {
    this.row.classList.toggle("in-form", inForm);
    Object.assign(this, { heard, whole, title, inForm, serverValues: values, run, text });
    if (looks === this.packedLooks) this.mark();
    else this.setLooks(readJson(looks.values));
    this.packedLooks = looks;
    if (!inForm) return;
    this.hearText();
    setTimeout(() => this.mark(), AT_REST); // Streamlit may give the text its new value after this
  }

  // The text of the line that the row is in, which is Streamlit's own.
  get textBox() {
    const { host } = /** @type {ShadowRoot} */ (this.view.root.getRootNode());
    return host?.closest("[class*='st-key-headlight-line']")?.querySelector("textarea");
  }

  // A text that is submitted by key is left, and no longer lies open over what it is answered with.
  hearText() {
    const { textBox } = this;
    if (!textBox) return;
    textBox.oninput = () => this.mark();
    textBox.onkeydown = ({ key, ctrlKey, metaKey }) => {
      if (key === "Enter" && (ctrlKey || metaKey)) setTimeout(() => textBox.blur());
    };
  }

  // What was chosen or typed and is not run yet. The button of a form says what is chosen behind it: the first, which
  // needs no name, and the others by their names.
  mark() {
    /** @type {(element: HTMLElement, isNew: boolean) => void} */
    const mark = (element, isNew) => element.toggleAttribute("data-not-run", isNew);
    for (const [name, { element }] of this.controls) {
      const value = name in this.unheard ? this.unheard[name][0] : this.serverValues[name];
      mark(element, name in this.run && JSON.stringify(value) !== JSON.stringify(this.run[name]));
    }
    const [first, ...others] = this.controls.values();
    const [title] = [this.title, this.fitting > 0 ? "More options" : "Options"].filter(Boolean);
    this.opener.textContent = this.inForm ? [lastPart(first?.current), ...others.map(({ summary }) => summary)].join(" · ") : title;
    mark(this.opener, this.more.querySelector("[data-not-run]") !== null);
    const { textBox, text } = this;
    if (this.inForm && textBox) mark(textBox, text !== null && textBox.value !== text.replaceAll("\r\n", "\n"));
  }

  // What was reported last; null where an epoch begins, which ends what the server has not heard.
  /** @param {Unheard | null} reported */
  setValue(reported) {
    if (reported === null) return this.giveWay();
    this.unheard = Object.fromEntries(Object.entries(reported).filter(([, [, time]]) => time > this.heard));
    this.view.keep(this.unheard);
    for (const [name, control] of this.controls) control.show(name in this.unheard ? this.unheard[name][0] : this.serverValues[name]);
    this.mark();
  }

  // A form would still report it.
  giveWay() {
    if (Object.keys(this.unheard).length > 0) this.view.report({});
    this.leave();
  }

  // What is half typed, or was chosen too late to be told, is forgotten.
  leave() {
    this.unheard = {};
    this.view.keep({});
    for (const [name, control] of this.controls) control.reset(this.serverValues[name]);
    this.mark();
  }

  // A control that looks the same as before, or can come to, stays.
  /** @param {ToldLook[]} looks */
  setLooks(looks) {
    const before = this.controls;
    this.controls = new Map(looks.map((look) => [look.name, this.control(look, before.get(look.name))]));
    this.looks = looks;
    this.arrange();
  }

  // Where some options stand behind the button, the last of those that have no room beside it do so too. How many have is
  // looked for once for each width, with the button's words: an option that was moved to and fro would lose the keyboard's
  // focus.
  arrange() {
    const narrow = this.phone.matches && !this.whole && this.looks.every(({ kind }) => kind !== "link");
    const [folded, row] = [true, false].map((isFolded) => this.looks.filter((look) => (look.folded || narrow) === isFolded));
    const measured = [this.view.root.clientWidth, ...row.map(({ name }) => name)].join();
    const isNew = this.measured !== measured;
    if (isNew) [this.measured, this.fitting] = [measured, row.length];
    this.place(row, folded);
    this.mark();
    if (isNew) while (folded.length > 0 && this.fitting > 1 && this.wraps()) {
      this.fitting -= 1;
      this.place(row, folded);
    }
  }

  // The first options that fit stand in the row; the others, and those that always do, behind the button.
  /** @param {ToldLook[]} options @param {ToldLook[]} always */
  place(options, always) {
    const [row, folded] = [options.slice(0, this.fitting), [...options.slice(this.fitting), ...always]];
    /** @type {(looks: ToldLook[]) => HTMLElement[]} */
    const elements = (looks) => looks.flatMap(({ name }) => this.controls.get(name)?.element ?? []);
    setChildren(this.more, elements(folded));
    setChildren(this.row, [...elements(row), ...(folded.length > 0 ? [this.opener] : [])]);
  }

  wraps() {
    const [first, last] = [this.row.children[0], this.opener].map((each) => each.getBoundingClientRect());
    return last.top >= first.bottom;
  }

  /** @param {ToldLook} look @param {Control<any> | undefined} before */
  control({ help, folded, ...look }, before) {
    /** @type {() => Control<any>} */
    const made = () => new CONTROLS[look.kind](look, (value) => this.choose(look.name, value));
    const control = before?.becomes(look) ? before : made();
    control.explain(help, this.view.tooltip);
    return control;
  }

  /** @param {string} name @param {OptionValue} value */
  choose(name, value) {
    this.latest = Math.max(Date.now(), this.latest + 1);
    this.unheard[name] = [value, this.latest];
    this.mark();
    if (this.inForm) this.view.tell({ ...this.unheard }); // no message, so nothing to wait for
    else this.view.report({ ...this.unheard }, this.controls.get(name)?.delay);
  }

  draw() {
    this.arrange();
  }
}
