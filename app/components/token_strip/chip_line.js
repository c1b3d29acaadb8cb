// One list of chips: A's, B's or the difference's.
const STRONGEST = 3;

class ChipLine {
  cursor = null; // where the keyboard is

  constructor(strip, comparison, index) {
    const { labels, presence } = strip.axis;
    const side = comparison.sides[index];
    Object.assign(this, { strip, head: comparison.heads[index], side });
    this.chips = labels.map((label, place) => {
      const chip = element("span", `chip ${presence[place]}`, label);
      chip.id = `token-${index}-${place}`;
      chip.setAttribute("role", "option");
      return chip;
    });
    this.list = element("div", "chips");
    this.list.tabIndex = 0;
    this.list.setAttribute("role", "listbox");
    this.list.setAttribute("aria-multiselectable", "true");
    const name = [comparison.name, side].filter(Boolean).join(" ");
    const help = "Arrow keys, Home and End move, Enter pins, plus adds or removes.";
    this.list.ariaLabel = `Tokens, coloured by ${name}. ${help}`;
    this.list.append(...this.chips);
    this.box = element("div", "line");
    if (side) this.box.append(element("span", "side", side));
    this.box.append(this.list);
    this.listen();
  }

  listen() {
    this.list.onpointerover = (event) => this.hover(event);
    this.list.onpointermove = (event) => this.strip.view.tooltip.move(event.clientX, event.clientY);
    this.list.onpointerleave = () => this.strip.leave();
    this.list.onclick = (event) => this.click(event);
    this.list.onkeydown = (event) => this.press(event);
    this.list.onblur = () => this.strip.leave();
  }

  // Gives each chip the colour of what it gets from, or gives to, the centres; returns the scale of these colours.
  colour(centres) {
    const { strip, head } = this;
    const { theme, direction } = strip;
    const values = this.chips.map((_, place) => (centres.length > 0 ? strip.valueAt(head, place) : NaN));
    const scale = this.scaleOf(values, centres);
    const [ends, others] = strip.ends.map((end) => strip.pinned[end]);
    this.chips.forEach((chip, place) => {
      const colour = Number.isNaN(values[place]) ? null : scale.colour(theme, values[place]);
      const [query, key] = direction === "from" ? [centres[0], place] : [place, centres[0]];
      const lack = colour || centres.length === 0 ? null : head.lack(query, key);
      chip.style.background = colour ? cssColour(colour) : "";
      chip.style.color = colour ? inkOn(colour) : "";
      for (const name of ["masked", "absent", "hidden"]) chip.classList.toggle(name, lack === name);
      chip.classList.toggle("pinned", ends.includes(place) || others.includes(place));
      chip.classList.toggle("hovered", strip.hovered.includes(place));
      chip.ariaSelected = String(ends.includes(place));
    });
    return scale;
  }

  // A sum can be larger than any of its terms.
  scaleOf(values, centres) {
    const scale = this.strip.scales.get(this.head);
    const largest = values.reduce((most, value) => Math.max(most, Math.abs(value) || 0), 0);
    if (centres.length < 2 || largest <= scale.limit) return scale;
    return new ColourScale({ ...scale, limit: roundLimitUp(largest) });
  }

  describe(place, pinned) {
    const { strip, head } = this;
    if (pinned.length === 0) return this.strongest(place);
    const [query, key] = strip.direction === "from" ? [pinned[0], place] : [place, pinned[0]];
    const rows = [describePlace("query", query, strip.axis), describePlace("key", key, strip.axis)];
    if (pinned.length === 1) return [...rows, ...head.describe(query, key)];
    const value = strip.valueAt(head, place);
    return [
      describePlace(strip.direction === "from" ? "key" : "query", place, strip.axis),
      [strip.note.textContent, Number.isNaN(value) ? "none" : head.format(value)],
    ];
  }

  // The tokens with the largest values from or to this one.
  strongest(place) {
    const { strip, head } = this;
    const value = (other) => (strip.direction === "from" ? head.value(place, other) : head.value(other, place));
    const order = this.chips.map((_, other) => other).filter((other) => value(other));
    order.sort((one, other) => Math.abs(value(other)) - Math.abs(value(one)));
    const arrow = strip.direction === "from" ? "→" : "←";
    const name = (other) => `${arrow} ${strip.axis.labels[other]} ${other}`;
    return order.slice(0, STRONGEST).map((other) => [name(other), head.format(value(other))]);
  }

  indexOf(chip) {
    return this.chips.indexOf(chip);
  }

  hover(event) {
    const place = this.indexOf(event.target);
    if (place >= 0) this.strip.hover(this, place, event.clientX, event.clientY);
  }

  click(event) {
    const place = this.indexOf(event.target);
    if (place < 0) return;
    if (event.ctrlKey || event.metaKey || event.shiftKey) this.strip.toggle(place);
    else this.strip.choose(place);
    this.cursor = place;
    this.hover(event);
    this.speak();
  }

  press(event) {
    const { strip, cursor } = this;
    const next = this.nextOf(event.key);
    if (next !== undefined) this.move(next);
    else if (event.key === "Escape") strip.pin([]);
    else if (cursor === null) return;
    else if (event.key === "Enter") strip.choose(cursor);
    else if (event.key === "+" || event.key === " ") strip.toggle(cursor);
    else return;
    this.speak();
    event.preventDefault();
  }

  nextOf(key) {
    const last = this.chips.length - 1;
    const from = this.cursor ?? (key === "ArrowLeft" || key === "ArrowRight" ? -1 : 0);
    if (key === "ArrowLeft") return Math.max(0, from - 1);
    if (key === "ArrowRight") return Math.min(last, from + 1);
    if (key === "ArrowUp" || key === "ArrowDown") return this.neighbour(from, key === "ArrowUp" ? -1 : 1);
    return { Home: 0, End: last }[key];
  }

  // The token above (line -1) or below (line 1) that is nearest.
  neighbour(place, line) {
    const { offsetTop, offsetLeft } = this.chips[place];
    const tops = this.chips.map((chip) => chip.offsetTop).filter((top) => (top - offsetTop) * line > 0);
    const wanted = line > 0 ? Math.min(...tops) : Math.max(...tops);
    const candidates = this.chips.filter((chip) => chip.offsetTop === wanted);
    const distance = (chip) => Math.abs(chip.offsetLeft - offsetLeft);
    const best = candidates.reduce((one, other) => (one && distance(one) <= distance(other) ? one : other), null);
    return best ? this.indexOf(best) : place;
  }

  move(place) {
    this.cursor = place;
    this.chips[place].scrollIntoView({ block: "nearest" });
    const { right, bottom } = this.chips[place].getBoundingClientRect();
    this.strip.hover(this, place, right, bottom);
  }

  speak() {
    const { strip, cursor } = this;
    const pinned = strip.pinned[strip.ends[0]];
    if (cursor === null) return strip.view.announce("nothing pinned");
    this.list.setAttribute("aria-activedescendant", this.chips[cursor].id);
    const state = pinned.includes(cursor) ? "pinned" : "";
    const words = [`${strip.axis.labels[cursor]} ${cursor}`, state, ...this.describe(cursor, pinned).flat()];
    strip.view.announce(words.filter(Boolean).join(" "));
  }
}
