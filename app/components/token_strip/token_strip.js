// The prompt as chips, coloured by attention from or to one of them: the pinned token, else the one under the pointer.
const STRONGEST = 3;

class TokenStrip {
  listeners = {
    hover: (cell) => this.mark(cell),
    pin: (cell) => this.setPin(cell),
  };
  direction = "from"; // "from": the token is the query; "to": it is the key
  hovered = null;

  constructor(view) {
    this.view = view;
    this.header = element("div", "header");
    this.title = element("strong");
    this.header.append(this.title, this.directionSwitch());
    this.list = element("div", "chips");
    this.list.tabIndex = 0;
    this.list.setAttribute("role", "listbox");
    this.list.onpointerover = (event) => this.hover(event);
    this.list.onpointermove = (event) => this.view.tooltip.move(event.clientX, event.clientY);
    this.list.onpointerleave = () => this.leave();
    this.list.onclick = (event) => {
      this.click(this.indexOf(event.target));
      this.hover(event);
    };
    this.list.onkeydown = (event) => this.press(event);
    view.root.append(this.header, this.list);
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

  update({ labels, head, scale }, { weights, logsumexp }) {
    Object.assign(this, { labels, scale });
    this.pattern = new Pattern(weights, logsumexp);
    this.title.textContent = `${headName(head)} attention`;
    this.list.ariaLabel = `Tokens, coloured by the attention of ${headName(head)}. Arrow keys move, Escape unpins.`;
    this.chips = labels.map((label, index) => {
      const chip = element("span", "chip", label);
      chip.id = `token-${index}`;
      chip.setAttribute("role", "option");
      return chip;
    });
    this.list.replaceChildren(...this.chips);
    this.hovered = null;
  }

  // The pin is the group's; Python gives this component no value.
  setValue() {
    const pin = this.view.link.latest("pin");
    const fits = Math.max(pin?.query ?? 0, pin?.key ?? 0) < this.labels.length;
    this.setPin(fits ? pin : null);
  }

  draw(theme) {
    this.theme = theme;
    this.colourChips();
  }

  // The pattern's cell, or row or column, that token `index` and perhaps another one stand for.
  cell(index, other = null) {
    return this.direction === "from" ? { query: index, key: other } : { query: other, key: index };
  }

  // The token that colours the others, and the one at the other end.
  ends(cell) {
    if (!cell) return [null, null];
    return this.direction === "from" ? [cell.query, cell.key] : [cell.key, cell.query];
  }

  get centre() {
    return this.ends(this.pinned)[0] ?? this.ends(this.hovered)[0];
  }

  colourChips() {
    if (!this.theme) return;
    const { centre } = this;
    const pinned = this.ends(this.pinned);
    const hovered = this.ends(this.hovered);
    this.chips.forEach((chip, index) => {
      const code = centre === null ? null : this.pattern.code(...Object.values(this.cell(centre, index)));
      const colour = code > MASKED ? colourAt(this.theme.map, SCALES[this.scale](weightOf(code))) : null;
      chip.style.background = colour ? cssColour(colour) : "";
      chip.style.color = colour ? inkOn(colour) : "";
      chip.classList.toggle("masked", code === MASKED);
      chip.classList.toggle("pinned", pinned.includes(index));
      chip.classList.toggle("hovered", hovered.includes(index));
      chip.ariaSelected = String(pinned[0] === index);
    });
  }

  mark(cell) {
    this.hovered = cell;
    this.colourChips();
  }

  setPin(cell) {
    this.pinned = cell;
    this.colourChips();
  }

  pin(cell) {
    this.setPin(cell);
    this.view.link.send("pin", cell);
  }

  turn(direction) {
    const centre = this.ends(this.pinned)[0];
    this.direction = direction;
    if (centre !== null) this.pin(this.cell(centre));
    this.colourChips();
  }

  indexOf(chip) {
    return this.chips.indexOf(chip);
  }

  // With a pinned token the pointer is at the other end of the attention, without one it is the token itself.
  hover(event) {
    const index = this.indexOf(event.target);
    if (index < 0) return;
    const pinned = this.ends(this.pinned)[0];
    this.mark(pinned === null ? this.cell(index) : this.cell(pinned, index));
    const title = `${this.labels[index]}, position ${index}`;
    this.view.tooltip.show(event.clientX, event.clientY, title, this.describe(index, pinned));
    this.view.link.send("hover", this.hovered);
  }

  leave() {
    this.mark(null);
    this.view.tooltip.hide();
    this.view.link.send("hover", null);
  }

  describe(index, pinned) {
    if (pinned === null) return this.strongest(index);
    const { query, key } = this.cell(pinned, index);
    return this.pattern.describe(query, key, this.labels, this.labels);
  }

  // The tokens with the largest weights from or to this one.
  strongest(index) {
    const code = (other) => this.pattern.code(...Object.values(this.cell(index, other)));
    const order = this.labels.map((_, other) => other).filter((other) => code(other) > ZERO);
    order.sort((one, other) => code(other) - code(one));
    const arrow = this.direction === "from" ? "→" : "←";
    const row = (other) => [`${arrow} ${this.labels[other]} ${other}`, significant(weightOf(code(other)))];
    return order.slice(0, STRONGEST).map(row);
  }

  click(index) {
    if (index < 0) return;
    const again = this.ends(this.pinned)[0] === index;
    this.pin(again ? null : this.cell(index));
    this.speak();
  }

  press(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const line = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    const centre = this.ends(this.pinned)[0];
    if (event.key === "Escape") this.pin(null);
    else if (centre === null && (step || line)) this.pin(this.cell(0));
    else if (step) this.pin(this.cell(Math.min(this.labels.length - 1, Math.max(0, centre + step))));
    else if (line) this.pin(this.cell(this.neighbour(centre, line)));
    else return;
    this.speak();
    event.preventDefault();
  }

  // The token above (line -1) or below (line 1) that is nearest.
  neighbour(index, line) {
    const { offsetTop, offsetLeft } = this.chips[index];
    const tops = this.chips.map((chip) => chip.offsetTop).filter((top) => (top - offsetTop) * line > 0);
    const wanted = line > 0 ? Math.min(...tops) : Math.max(...tops);
    const candidates = this.chips.filter((chip) => chip.offsetTop === wanted);
    const distance = (chip) => Math.abs(chip.offsetLeft - offsetLeft);
    const best = candidates.reduce((one, other) => (one && distance(one) <= distance(other) ? one : other), null);
    return best ? this.indexOf(best) : index;
  }

  speak() {
    const centre = this.ends(this.pinned)[0];
    if (centre === null) {
      this.list.removeAttribute("aria-activedescendant");
      return this.view.announce("nothing pinned");
    }
    this.list.setAttribute("aria-activedescendant", this.chips[centre].id);
    this.chips[centre].scrollIntoView({ block: "nearest" });
    this.view.announce([`${this.labels[centre]} ${centre}`, ...this.strongest(centre).flat()].join(" "));
  }
}

export default (component) => mountView(component, TokenStrip);
