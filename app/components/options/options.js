// A row of options. A change is shown at once and told to the server; until the server says that it has heard of it, what
// the server sends may be older and does not undo it.
class OptionRow {
  listeners = {};
  controls = new Map(); // by name
  unheard = {}; // by name: a value and when (ms) it was chosen
  latest = 0;

  constructor(view) {
    this.view = view;
    this.row = element("div", "options");
    this.lead = element("span", "lead");
    view.root.append(this.row);
    this.row.onkeydown = (event) => this.press(event);
  }

  // These keys submit a form, and what is typed goes with it as if it had been left before.
  press({ key, ctrlKey, metaKey, target }) {
    if (!this.inForm || key !== "Enter" || !(ctrlKey || metaKey)) return;
    target.blur();
    target.focus();
  }

  update({ values, heard, lead, inForm = false }, { looks }) {
    this.lead.textContent = lead;
    this.row.classList.toggle("in-form", inForm);
    this.setLooks(JSON.parse(new TextDecoder().decode(looks.values)));
    this.told = values;
    Object.assign(this, { heard, inForm });
  }

  // What was reported last; null where an epoch begins, which ends what the server has not heard.
  setValue(reported) {
    if (reported === null) return this.giveWay();
    this.unheard = Object.fromEntries(Object.entries(reported).filter(([, [, time]]) => time > this.heard));
    this.view.keep(this.unheard);
    for (const [name, control] of this.controls) control.show(name in this.unheard ? this.unheard[name][0] : this.told[name]);
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
    for (const [name, control] of this.controls) control.reset(this.told[name]);
  }

  // A control that looks the same as before, or can come to, stays.
  setLooks(looks) {
    const before = this.controls;
    this.controls = new Map(looks.map((look) => [look.name, this.control(look, before.get(look.name))]));
    const elements = [...this.controls.values()].map(({ element }) => element);
    setChildren(this.row, this.lead.textContent ? [this.lead, ...elements] : elements);
  }

  control({ help, ...look }, before) {
    const made = () => new CONTROLS[look.kind](look, (value) => this.choose(look.name, value));
    const control = before?.becomes(look) ? before : made();
    control.explain(help, this.view.tooltip);
    return control;
  }

  choose(name, value) {
    this.latest = Math.max(Date.now(), this.latest + 1);
    this.unheard[name] = [value, this.latest];
    if (this.inForm) this.view.tell({ ...this.unheard }); // no message, so nothing to wait for
    else this.view.report({ ...this.unheard }, this.controls.get(name).delay);
  }

  draw() {}
}

export default (component) => mountView(component, OptionRow);
