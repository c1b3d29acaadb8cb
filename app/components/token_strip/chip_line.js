// One list of chips: A's, B's or the difference's; of all tokens, or of those at one end of the attention.
const STRONGEST = 3;
const BLOCK = 128; // chips: those of blocks outside the list's sight are not coloured anew with each move of the pointer
const SPACE = "␣";
/** @type {Record<Side, string>} */
const LINE_NAMES = { key: "Source", query: "Target" };

class ChipLine {
  /** @type {number | null} */
  cursor = null; // where the keyboard is
  /** @type {string[]} */
  looks = []; // of each chip
  /** @type {Set<Node | null>} */
  unseen = new Set(); // blocks out of sight
  /** @type {ColourScale | null} */
  missed = null; // the scale of colours that these have not got

  // `end` is null unless the other one has other tokens.
  /** @param {TokenStrip} strip @param {Comparison} comparison @param {number} index @param {Side | null} end */
  constructor(strip, comparison, index, end) {
    this.strip = strip;
    this.end = end;
    this.head = comparison.heads[index];
    this.axis = strip.axes[end ?? "query"];
    const { labels, presence } = this.axis;
    const line = [end ?? "token", index].join("-");
    this.chips = labels.map((label, place) => tokenChip(`chip ${presence[place]}`, `${line}-${place}`, label, place));
    this.list = widget("chips", "listbox");
    this.list.setAttribute("aria-multiselectable", "true");
    const name = [comparison.name, comparison.sides[index]].filter(Boolean).join(" ");
    const help = "Arrow keys, Home and End move, Enter pins, plus adds or removes.";
    const tokens = end ? `${LINE_NAMES[end]} tokens` : "Tokens";
    this.list.ariaLabel = `${tokens}, coloured by ${name}. ${help}`;
    this.blocks = this.blocksOfChips();
    this.list.append(...this.blocks);
    markTurns(this.chips, this.turns);
    const side = [end && LINE_NAMES[end], comparison.sides[index]].filter(Boolean).join(" ");
    this.box = element("div", "line");
    if (side) this.box.append(element("span", "side", side));
    this.box.append(this.list);
    this.listen();
  }

  // Of a conversation that both ends of the attention have.
  get turns() {
    return this.end ? [] : this.strip.props.turns;
  }

  // The chips in their order; where they are more than a block, each block tells the place that it begins with.
  blocksOfChips() {
    const starts = upTo(Math.ceil(this.chips.length / BLOCK)).map((block) => block * BLOCK);
    return starts.map((start) => {
      const block = element("div", "block");
      block.setAttribute("role", "presentation");
      if (starts.length > 1) block.dataset.start = String(start);
      block.append(...this.chips.slice(start, start + BLOCK));
      return block;
    });
  }

  // A block that comes into sight gets the colours that it has missed.
  /** @param {IntersectionObserverEntry[]} entries */
  see(entries) {
    for (const { target, isIntersecting } of entries) this.unseen[isIntersecting ? "delete" : "add"](target);
    if (this.missed) this.colour(this.missed, true);
  }

  listen() {
    const sight = new IntersectionObserver((entries) => this.see(entries), { root: this.list });
    for (const block of this.blocks) sight.observe(block);
    this.list.onpointerover = (event) => this.hover(event);
    this.list.onpointermove = (event) => this.strip.view.tooltip.move(event.clientX, event.clientY);
    this.list.onpointerleave = () => this.strip.leave();
    this.list.onclick = (event) => this.click(event);
    this.list.onblur = () => this.strip.leave();
    onKeys(this.list, {
      ArrowLeft: () => this.walk((this.cursor ?? 0) - 1),
      ArrowRight: () => this.walk((this.cursor ?? -1) + 1),
      ArrowUp: () => this.walk(this.neighbour(this.cursor ?? 0, -1)),
      ArrowDown: () => this.walk(this.neighbour(this.cursor ?? 0, 1)),
      Home: () => this.walk(0),
      End: () => this.walk(this.chips.length - 1),
      Enter: () => this.pin("choose"),
      "+": () => this.pin("toggle"),
      " ": () => this.pin("toggle"),
      Escape: () => this.unpin(),
    });
  }

  // The end at which tokens that are not pinned get their colour; a token alone can stand at both.
  /** @returns {Side} */
  get seenAs() {
    return this.end ?? (this.strip.direction === "from" ? "key" : "query");
  }

  // The end at which a click pins.
  get pinsAs() {
    return this.end ?? OTHER_END[this.seenAs];
  }

  // The tokens that colour these.
  get centres() {
    return this.strip.centres(OTHER_END[this.seenAs]);
  }

  // The cells of some of these tokens at that end with some at the other one, as one number.
  /** @param {Side} end @param {number[]} places @param {number[]} others */
  combined(end, places, others) {
    const [queries, keys] = end === "query" ? [places, others] : [others, places];
    return combinedValue(this.head, queries, keys);
  }

  /** @param {number} place */
  valueAt(place) {
    return this.centres.length > 0 ? this.combined(this.seenAs, [place], this.centres) : NaN;
  }

  // What several tokens give together; nothing is said of one alone.
  get sumName() {
    const { length } = this.centres;
    return length > 1 ? `${combinedName(this.strip.comparison.measured[0])} over ${length} tokens` : "";
  }

  // A sum can be larger than any of its terms.
  /** @returns {ColourScale} */
  scale() {
    const scale = /** @type {ColourScale} */ (this.strip.scales.get(this.head));
    if (this.centres.length < 2) return scale;
    const largest = this.chips.reduce((most, _, place) => Math.max(most, Math.abs(this.valueAt(place)) || 0), 0);
    return largest <= scale.limit ? scale : new ColourScale({ ...scale, limit: roundLimitUp(largest) });
  }

  // Gives each chip the colour of what it gets from, or gives to, the centres. Most look as before from one place of the
  // pointer to the next, and are left alone: of a thousand chips the browser would else look at each anew. What follows
  // the pointer is of chips in sight alone; the others get it when they come into sight.
  /** @param {ColourScale} scale @param {boolean} inSight */
  colour(scale, inSight) {
    const { strip, head, seenAs, pinsAs, centres } = this;
    const { theme } = strip;
    if (!theme) return;
    this.missed = inSight ? scale : null;
    const ends = [...new Set([seenAs, pinsAs])];
    this.chips.forEach((chip, place) => {
      if (inSight && this.unseen.has(chip.parentNode)) return;
      const value = this.valueAt(place);
      const colour = Number.isNaN(value) ? null : scale.colour(theme, value);
      const { query, key } = /** @type {Cell} */ ({ [seenAs]: place, [OTHER_END[seenAs]]: centres[0] });
      const lack = colour || centres.length === 0 ? null : head.lack(query, key);
      const pinned = ends.some((end) => strip.pinned[end].includes(place));
      const hovered = ends.some((end) => strip.hovered[end] === place);
      const selected = strip.pinned[pinsAs].includes(place);
      const resting = strip.isAtRest && pinsAs === "query" && centres.includes(place);
      const look = [colour, lack, pinned, hovered, selected, resting].join();
      if (look === this.looks[place]) return;
      this.looks[place] = look;
      tint(chip, colour);
      for (const name of ["masked", "absent", "hidden"]) chip.classList.toggle(name, lack === name);
      chip.classList.toggle("pinned", pinned);
      chip.classList.toggle("resting", resting);
      chip.classList.toggle("hovered", hovered);
      chip.ariaSelected = String(selected);
    });
  }

  // Between each of some tokens at the other end and these, what is at least a share of the scale's end.
  /** @param {Theme} theme @param {number[]} centres @returns {TokenLink[]} */
  links(theme, centres, least = 0) {
    const { strip, head, seenAs, end } = this;
    const scale = /** @type {ColourScale} */ (strip.scales.get(head));
    const facing = end ? /** @type {ChipLine} */ (strip.lines.find((line) => line.head === head && line !== this)) : this;
    return centres.flatMap((centre, slot) =>
      this.chips.flatMap((to, place) => {
        const value = this.combined(seenAs, [place], [centre]);
        const share = Math.min(1, Math.abs(value) / scale.limit);
        if (!(share > 0 && share >= least) || (!end && place === centre)) return [];
        const id = [this.list.ariaLabel, slot, place].join();
        return [{ id, from: facing.chips[centre], to, share, colour: scale.colour(theme, value), text: strip.valueText(value) }];
      }),
    );
  }

  // What is pointed at with the pointer on a token: beside pinned ones a cell, else the token that would be pinned.
  /** @type {(place: number) => Record<string, number>} */
  cellOf(place) {
    const [pinned] = this.strip.pinned[OTHER_END[this.seenAs]];
    if (pinned === undefined) return { [this.pinsAs]: place };
    return { [OTHER_END[this.seenAs]]: pinned, [this.seenAs]: place };
  }

  /** @type {(place: number) => TooltipRow[]} */
  describe(place) {
    const { strip, head, seenAs } = this;
    const pinned = strip.pinned[OTHER_END[seenAs]];
    if (pinned.length === 0) return this.strongest(place);
    if (pinned.length === 1) {
      const { query, key } = this.cellOf(place);
      const rows = [describePlace("query", query, strip.axes.query), describePlace("key", key, strip.axes.key)];
      return [...rows, ...head.describe(query, key)];
    }
    const value = this.valueAt(place);
    const text = Number.isNaN(value) ? "none" : head.format(value);
    return [describePlace(seenAs, place, this.axis), [this.sumName, text]];
  }

  // The tokens at the other end with the largest values from or to this one.
  /** @type {(place: number) => TooltipRow[]} */
  strongest(place) {
    const { strip, head, pinsAs } = this;
    const { labels } = strip.axes[OTHER_END[pinsAs]];
    const value = (/** @type {number} */ other) => this.combined(pinsAs, [place], [other]);
    const order = upTo(labels.length).filter((other) => value(other));
    order.sort((one, other) => Math.abs(value(other)) - Math.abs(value(one)));
    const arrow = pinsAs === "query" ? "→" : "←";
    return order.slice(0, STRONGEST).map((other) => [`${arrow} ${labels[other]} ${other}`, head.format(value(other))]);
  }

  /** @param {MouseEvent} event */
  hover(event) {
    const place = this.chips.indexOf(targetOf(event));
    if (place >= 0) this.strip.hover(this, place, event.clientX, event.clientY);
  }

  /** @param {MouseEvent} event */
  click(event) {
    const place = this.chips.indexOf(targetOf(event));
    if (place < 0) return;
    if (event.ctrlKey || event.metaKey || event.shiftKey) this.strip.toggle(this.pinsAs, place);
    else this.strip.choose(this.pinsAs, place);
    this.cursor = place;
    this.hover(event);
    this.speak();
  }

  // The token where the keyboard is; false while it is at none.
  /** @param {"choose" | "toggle"} way */
  pin(way) {
    if (this.cursor === null) return false;
    this.strip[way](this.pinsAs, this.cursor);
    this.speak();
    return true;
  }

  unpin() {
    this.strip.pin(this.pinsAs, []);
    this.speak();
  }

  // The token above (line -1) or below (line 1) that is nearest.
  /** @param {number} place @param {1 | -1} line */
  neighbour(place, line) {
    const boxes = this.chips.map((chip) => chip.getBoundingClientRect());
    const { top, left } = boxes[place];
    const tops = boxes.map((box) => box.top).filter((other) => (other - top) * line > 0);
    const wanted = line > 0 ? Math.min(...tops) : Math.max(...tops);
    const candidates = boxes.filter((box) => box.top === wanted);
    const distance = (/** @type {DOMRect} */ box) => Math.abs(box.left - left);
    if (candidates.length === 0) return place;
    return boxes.indexOf(candidates.reduce((one, other) => (distance(one) <= distance(other) ? one : other)));
  }

  /** @param {number} to */
  walk(to) {
    const place = clamp(to, 0, this.chips.length - 1);
    this.cursor = place;
    this.chips[place].scrollIntoView({ block: "nearest" });
    const { right, bottom } = this.chips[place].getBoundingClientRect();
    this.strip.hover(this, place, right, bottom);
    this.speak();
  }

  // Has the keyboard go on from where it was in the same tokens.
  /** @param {number | null} cursor */
  goOn(cursor) {
    this.cursor = cursor;
    if (cursor !== null) this.list.setAttribute("aria-activedescendant", this.chips[cursor].id);
  }

  /** @param {number} place */
  reveal(place) {
    revealIn(this.list, this.chips[place]);
  }

  speak() {
    const { strip, cursor } = this;
    if (cursor === null) return strip.view.announce("nothing pinned");
    this.list.setAttribute("aria-activedescendant", this.chips[cursor].id);
    const state = strip.pinned[this.pinsAs].includes(cursor) ? "pinned" : "";
    strip.view.announce(`${this.axis.labels[cursor]} ${cursor}`, state, turnAt(this.turns, cursor), this.describe(cursor));
  }
}

// A token in the text, where a gap stands for the space that it begins with.
/** @type {(className: string, id: string, label: string, place: number) => HTMLElement} */
function tokenChip(className, id, label, place) {
  if (SPECIAL.test(label)) return optionOf(`${className} special`, id, shortLabel(label, place));
  if (!label.startsWith(SPACE) || label === SPACE) return optionOf(className, id, label);
  const chip = optionOf(`${className} spaced`, id);
  chip.append(element("span", "space", SPACE), label.slice(SPACE.length));
  return chip;
}
