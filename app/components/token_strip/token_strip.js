// Tokens as chips, coloured by attention from or to some of them: the pinned tokens, else the one under the pointer. Where
// the keys are other tokens than the queries, these are two lines, Source and Target, each coloured by the other. With B
// there is each line three times: of A, B and B - A.
const OTHER_END = { query: "key", key: "query" };

class TokenStrip {
  listeners = {
    hover: (cell) => this.mark(cell),
    pin: (pin) => this.setPin(pin),
  };
  direction = "from"; // "from": the tokens are queries; "to": they are keys
  hovered = { query: null, key: null };
  pinned = { query: [], key: [] };

  constructor(view) {
    this.view = view;
    this.title = element("strong");
    this.note = element("span", "note");
    this.legend = element("div", "legend");
    this.switch = this.directionSwitch();
    const header = element("div", "header");
    header.append(this.title, this.switch, this.note, this.legend);
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
    this.theme = null;
    Object.assign(this, { props, axes: axesOf(props) });
    this.comparison = Comparison.from(props, arrays, "", props, this.comparison ? [this.comparison] : []);
    const { name, sides } = this.comparison;
    this.title.textContent = `${name}, ${SAID.titles[props.show]}`;
    const ends = props.columns ? ["key", "query"] : [null]; // Source above Target
    this.lines = sides.flatMap((_, index) => ends.map((end) => new ChipLine(this, this.comparison, index, end)));
    this.body.replaceChildren(...this.lines.map((line) => line.box));
    const paired = Boolean(props.columns);
    this.body.classList.toggle("compared", this.lines.length > 1);
    this.body.classList.toggle("paired", paired && sides.length > 1);
    this.switch.hidden = paired;
    this.hovered = { query: null, key: null };
  }

  // The pin is the group's; Python gives this component no value.
  setValue() {
    const pin = this.view.link.latest("pin");
    this.setPin(pin && pinFits(pin, this.axes) ? pin : null);
  }

  draw(theme) {
    this.theme = theme;
    this.scales = colourScales([this.comparison], this.props.scale, false);
    this.colour();
  }

  // The tokens of an end that colour those of the other one.
  centres(end) {
    if (this.pinned[end].length > 0) return this.pinned[end];
    return this.hovered[end] === null ? [] : [this.hovered[end]];
  }

  colour(inSight = false) {
    if (!this.theme) return;
    const [first, , compared] = this.comparison.heads.map((head) => this.colourLines(head, inSight));
    this.drawLegend(first, compared);
    this.note.textContent = this.lines.map(({ sumName }) => sumName).find(Boolean) ?? "";
  }

  // Unless it shows these scales already.
  drawLegend(first, compared) {
    const shows = [first, compared, this.theme];
    if (this.legendShows?.every((each, index) => each === shows[index])) return;
    this.legendShows = shows;
    const bars = [first.bar(this.theme, "")];
    if (compared) bars.push(compared.bar(this.theme, this.comparison.sides[2]));
    this.legend.replaceChildren(...bars);
  }

  // A head's lines on one scale, which it returns.
  colourLines(head, inSight) {
    const lines = this.lines.filter((line) => line.head === head);
    const scales = lines.map((line) => line.scale());
    const scale = scales.reduce((one, other) => (other.limit > one.limit ? other : one));
    for (const line of lines) line.colour(scale, inSight);
    return scale;
  }

  mark(cell) {
    this.hovered = { query: cell?.query ?? null, key: cell?.key ?? null };
    this.colour(true);
  }

  setPin(pin) {
    this.pinned = { query: pin?.queries ?? [], key: pin?.keys ?? [] };
    this.colour();
  }

  // Pins tokens of one end, and none of the other.
  pin(end, places) {
    const pinned = { query: [], key: [], [end]: places };
    const pin = places.length > 0 ? { queries: pinned.query, keys: pinned.key } : null;
    this.setPin(pin);
    this.view.link.send("pin", pin);
  }

  turn(direction) {
    const [line] = this.lines;
    const centres = this.pinned[line.pinsAs];
    this.direction = direction;
    if (centres.length > 0) this.pin(line.pinsAs, centres);
    this.mark(null);
  }

  // One token alone, or none if it is the one that is pinned.
  choose(end, place) {
    const pinned = this.pinned[end];
    this.pin(end, pinned.length === 1 && pinned[0] === place ? [] : [place]);
  }

  // One token more or fewer.
  toggle(end, place) {
    const pinned = this.pinned[end];
    const others = pinned.filter((other) => other !== place);
    this.pin(end, others.length < pinned.length ? others : [...pinned, place].sort((one, other) => one - other));
  }

  hover(line, place, x, y) {
    const cell = { query: null, key: null, ...line.cellOf(place) };
    this.mark(cell);
    this.view.tooltip.show(x, y, `${line.axis.labels[place]} ${place}`, line.describe(place));
    this.view.link.send("hover", cell);
  }

  leave() {
    this.mark(null);
    this.view.tooltip.hide();
    this.view.link.send("hover", null);
  }
}
