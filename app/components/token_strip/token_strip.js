// The prompt as chips, coloured by attention from or to some of them: the pinned tokens, else the one under the
// pointer. With B there are three lines: A, B and B - A.
class TokenStrip {
  listeners = {
    hover: (cell) => this.mark(cell),
    pin: (pin) => this.setPin(pin),
  };
  direction = "from"; // "from": the tokens are queries; "to": they are keys
  hovered = [null, null]; // the token that colours the others, and the one at the other end
  pinned = { queries: [], keys: [] };

  constructor(view) {
    this.view = view;
    this.title = element("strong");
    this.note = element("span", "note");
    this.legend = element("div", "legend");
    const header = element("div", "header");
    header.append(this.title, this.directionSwitch(), this.note, this.legend);
    this.body = element("div");
    view.root.append(header, this.body);
  }

  directionSwitch() {
    const group = element("div", "switch");
    group.setAttribute("role", "radiogroup");
    group.ariaLabel = "direction of attention";
    for (const direction of ["from", "to"]) {
      const label = element("label");
      const radio = element("input");
      radio.type = "radio";
      radio.name = "direction";
      radio.checked = direction === this.direction;
      radio.onchange = () => this.turn(direction);
      label.append(radio, element("span", "", `${direction} the token`));
      group.append(label);
    }
    return group;
  }

  update(props, arrays) {
    const { labels, presence, show } = props;
    this.theme = null;
    Object.assign(this, { props, axis: { labels, presence } });
    this.comparison = Comparison.from(props, arrays, "", props);
    const { name, sides } = this.comparison;
    this.title.textContent = `${name}, ${MEASURES[show].title}`;
    this.lines = sides.map((_, index) => new ChipLine(this, this.comparison, index));
    this.body.replaceChildren(...this.lines.map((line) => line.box));
    this.body.classList.toggle("compared", sides.length > 1);
    this.hovered = [null, null];
  }

  // The pin is the group's; Python gives this component no value.
  setValue() {
    const pin = this.view.link.latest("pin");
    const fits = pin && [...pin.queries, ...pin.keys].every((place) => place < this.axis.labels.length);
    this.setPin(fits ? pin : null);
  }

  draw(theme) {
    this.theme = theme;
    this.scales = colourScales([this.comparison], this.props.scale, false);
    this.colour();
  }

  // The names in a pin, or in a cell, of the end that colours and of the other one.
  get ends() {
    return this.direction === "from" ? ["queries", "keys"] : ["keys", "queries"];
  }

  // The tokens that colour the others.
  get centres() {
    const pinned = this.pinned[this.ends[0]];
    if (pinned.length > 0) return pinned;
    return this.hovered[0] === null ? [] : [this.hovered[0]];
  }

  // What a head shows between the tokens that colour and another one.
  valueAt(head, place) {
    const others = [place];
    return this.direction === "from"
      ? combinedValue(head, this.centres, others)
      : combinedValue(head, others, this.centres);
  }

  colour() {
    if (!this.theme) return;
    const { centres } = this;
    const [first, , compared] = this.lines.map((line) => line.colour(centres));
    const bars = [first.bar(this.theme, "")];
    if (compared) bars.push(compared.bar(this.theme, this.comparison.sides[2]));
    this.legend.replaceChildren(...bars);
    const what = combinedName(this.comparison.measured[0]);
    this.note.textContent = centres.length > 1 ? `${what} over ${centres.length} tokens` : "";
  }

  mark(cell) {
    const { query = null, key = null } = cell ?? {};
    this.hovered = this.direction === "from" ? [query, key] : [key, query];
    this.colour();
  }

  setPin(pin) {
    this.pinned = pin ?? { queries: [], keys: [] };
    this.colour();
  }

  pin(places) {
    const [centre, other] = this.ends;
    const pin = places.length > 0 ? { [centre]: places, [other]: [] } : null;
    this.setPin(pin);
    this.view.link.send("pin", pin);
  }

  turn(direction) {
    const centres = this.pinned[this.ends[0]];
    this.direction = direction;
    if (centres.length > 0) this.pin(centres);
    this.mark(null);
  }

  // One token alone, or none if it is the one that is pinned.
  choose(place) {
    const pinned = this.pinned[this.ends[0]];
    this.pin(pinned.length === 1 && pinned[0] === place ? [] : [place]);
  }

  // One token more or fewer.
  toggle(place) {
    const pinned = this.pinned[this.ends[0]];
    const others = pinned.filter((other) => other !== place);
    this.pin(others.length < pinned.length ? others : [...pinned, place].sort((one, other) => one - other));
  }

  // With pinned tokens the pointer is at the other end of the attention, without it is on the token itself.
  hover(line, place, x, y) {
    const pinned = this.pinned[this.ends[0]];
    const [centre, other] = pinned.length > 0 ? [pinned[0], place] : [place, null];
    const cell = this.direction === "from" ? { query: centre, key: other } : { query: other, key: centre };
    this.mark(cell);
    this.view.tooltip.show(x, y, `${this.axis.labels[place]} ${place}`, line.describe(place, pinned));
    this.view.link.send("hover", cell);
  }

  leave() {
    this.mark(null);
    this.view.tooltip.hide();
    this.view.link.send("hover", null);
  }
}

export default (component) => mountView(component, TokenStrip);
