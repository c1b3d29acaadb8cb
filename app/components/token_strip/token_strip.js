// The text, coloured by attention from or to some of its tokens: the pinned ones, else the one under the pointer, else the
// last one. Lines join these to the tokens that they look at, unless the text is long. Where the keys are other tokens than
// the queries, these are two lines of text, Source and Target, each coloured by the other. With B there is each line three
// times: of A, B and B - A.
const MOST_LINES = 6; // of text, with lines between its tokens
const MOST_BETWEEN = 2; // lines of each of two texts with lines between them, which cross the words of all but the next
const MOST_IN_COLUMN = { wide: 24, phone: 40 }; // tokens below each other where two texts do not fit on a line each
const ON_PHONE = matchMedia("(max-width: 640px)");
const PREDICTED_GAP = 12; // CSS pixels from the last token to what is predicted
const LEAST_AT_REST = 0.2; // of the attention of all tokens at once, the cells that have a line
/** @type {Record<Side, Side>} */
const OTHER_END = { query: "key", key: "query" };

/** @typedef {"from" | "to"} Direction the tokens are queries, or keys */
/** @typedef {[label: string, probability: string]} Prediction */
/**
 * @typedef {AxisProps & PanelProps & How
 *   & { scale: Root, predictions: Prediction[], turns: TurnStarts, caption: string,
 *   others: Partial<Record<Kind, number>> }} StripProps
 *   of token_strip/__init__.py
 */
/** @type {Direction[]} */
const DIRECTIONS = ["from", "to"];

/** @implements {Component} */
class TokenStrip {
  listeners = {
    hover: (/** @type {Hovered | null} */ cell) => this.mark(ownMarks(cell && marksOf(cell), this.axes) && cell),
    pin: (/** @type {Pin | null} */ pin) => {
      this.setPin(ownMarks(pin, this.axes));
      if (pin) this.reveal();
    },
    plain: (/** @type {boolean} */ isPlain) => {
      this.isPlain = isPlain;
      this.view.root.classList.toggle("plain", isPlain);
      this.colour();
    },
    barred: () => this.legendShows && this.setLegend(...this.legendShows),
  };
  isPlain = false; // the text alone, as the first minute begins
  /** @type {Direction} */
  direction = "from";
  /** @type {Hovered} */
  hovered = { query: null, key: null };
  /** @type {Record<Side, number[]>} */
  pinned = { query: [], key: [] };
  /** @type {StripProps} */
  props;
  /** @type {Axes} */
  axes;
  /** @type {Comparison} */
  comparison;
  /** @type {ChipLine[]} */
  lines = [];
  /** @type {number[] | null} */
  scrolled = null; // how far down the lines of the same text were before these
  /** @type {HTMLElement[]} */
  predictions = []; // of A and B, behind their last tokens
  /** @type {Theme | null} */
  theme = null; // none while new lines are not coloured yet
  /** @type {Map<Shown, ColourScale>} */
  scales;
  /** @type {[first: ColourScale, compared: ColourScale | undefined, theme: Theme] | undefined} */
  legendShows;

  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.title = element("strong");
    this.note = element("span", "note");
    this.legend = element("div", "legend");
    this.switch = this.directionSwitch();
    const header = element("div", "header");
    header.append(this.title, view.caption, this.switch, this.note, this.legend);
    this.body = element("div", "body");
    this.attention = new AttentionLines(this.body);
    view.root.append(header, this.body);
  }

  directionSwitch() {
    const group = element("div", "switch");
    group.setAttribute("role", "radiogroup");
    group.ariaLabel = "direction of attention";
    for (const direction of DIRECTIONS) {
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

  /** @param {StripProps} props @param {Arrays} arrays */
  update(props, arrays) {
    const axes = axesOf(props);
    const before = this.axes && hasSameTokens(this.axes, axes) ? this.lines : [];
    if (before.length === 0) this.scrolled = null;
    else if (this.theme) this.scrolled = before.map(({ list }) => list.scrollTop);
    this.theme = null;
    this.props = props;
    this.axes = axes;
    this.comparison = Comparison.from(props, arrays, "", props, this.comparison ? [this.comparison] : []);
    const { name, sides } = this.comparison;
    this.title.textContent = props.caption ? "" : `${name}, ${quantityOf(props)}`;
    /** @type {(Side | null)[]} */
    const ends = props.columns ? ["key", "query"] : [null]; // Source above Target
    const focused = this.lines.findIndex(({ list }) => list.matches(":focus"));
    this.lines = sides.flatMap((_, index) => ends.map((end) => new ChipLine(this, this.comparison, index, end)));
    this.body.replaceChildren(this.attention.canvas, ...this.lines.map((line) => line.box));
    this.lines.forEach((line, index) => line.goOn(before[index]?.cursor ?? null));
    this.lines[focused]?.list.focus({ preventScroll: true }); // else the next key, as Escape, would be heard by nobody
    this.predictions = props.predictions.map((each, side) => this.predictionOf(each, side));
    const paired = Boolean(props.columns);
    this.body.classList.toggle("compared", this.lines.length > 1);
    this.body.classList.toggle("paired", paired && sides.length > 1);
    this.body.classList.toggle("crossed", paired);
    this.body.classList.toggle("apart", !props.labels.some((label) => label.startsWith(SPACE)));
    this.attention.thickest = paired ? 5 : 9;
    this.switch.hidden = paired;
    this.hovered = { query: null, key: null };
  }

  // What the model predicts stands behind the last token of its line.
  /** @param {Prediction} prediction @param {number} side */
  predictionOf([label, probability], side) {
    const button = buttonOf("", () => this.view.open("AB"[side]));
    button.className = "prediction";
    button.append(shortLabel(label, 1).replace(SPACE, ""), " ", element("span", "probability", probability));
    button.title = "The likeliest next token. Why?";
    this.lines[side].box.append(button);
    return button;
  }

  // The pin is the group's; Python gives this component no value.
  setValue() {
    this.setPin(ownMarks(this.view.link.latest("pin"), this.axes));
  }

  /** @param {Theme} theme */
  draw(theme) {
    const isNew = this.theme === null;
    this.theme = theme;
    this.scales = colourScales([this.comparison], this.props.scale, false, this.props.others);
    this.layOut();
    this.colour(false, false);
    if (!isNew) return;
    const { scrolled } = this;
    if (!scrolled) return this.reveal();
    this.lines.forEach(({ list }, index) => list.scrollTo(0, scrolled[index] ?? 0));
  }

  // What is pinned, or else says at rest where it looks, comes into its list's sight; the page stays where it is.
  reveal() {
    const { pinned } = this;
    for (const line of this.lines) {
      const [place] = line.end ? pinned[line.end] : [...pinned.query, ...pinned.key, ...this.centres("query")];
      if (place !== undefined) line.reveal(place);
    }
  }

  // With room for lines between its tokens, if the text is short enough for them and they mean an amount.
  layOut() {
    const lists = this.lines.map(({ chips }) => chips);
    const { classList } = this.body;
    const fits = this.props.show !== "score" && lists.every((chips) => chips.length <= BLOCK);
    classList.toggle("joined", fits);
    classList.remove("wrapped", "columns");
    this.attention.isAcross = false;
    if (!fits) return this.attention.clear();
    const rows = this.attention.measure(lists);
    const inColumn = MOST_IN_COLUMN[ON_PHONE.matches ? "phone" : "wide"];
    if (rows > 1 && this.props.columns && lists.every((chips) => chips.length <= inColumn)) return this.setColumns(lists);
    const isJoined = rows <= (this.props.columns ? MOST_BETWEEN : MOST_LINES);
    classList.toggle("joined", isJoined);
    classList.toggle("wrapped", rows > 1);
    if (!isJoined) return this.attention.clear();
    this.placePredictions(lists, rows > 1);
  }

  // Source and target as two columns: lines between wrapped texts would cross their words.
  /** @param {HTMLElement[][]} lists */
  setColumns(lists) {
    this.body.classList.add("joined", "columns");
    this.attention.isAcross = true;
    this.attention.measure(lists);
  }

  // Behind the last token of the line, of whichever run that is, or where it does not fit there, under it.
  /** @param {HTMLElement[][]} lists @param {boolean} isMoved since they were measured */
  placePredictions(lists, isMoved) {
    const { predictions, lines, body, attention } = this;
    const room = body.clientWidth - PREDICTED_GAP;
    const placeOf = (/** @type {HTMLElement} */ chip) => /** @type {ChipPlace} */ (attention.places.get(chip));
    const lasts = predictions.map((_, side) => /** @type {HTMLElement} */ (lines[side].chips.at(-1)));
    const fit = predictions.map((each, side) => placeOf(lasts[side]).right + each.offsetWidth <= room);
    predictions.forEach((each, side) => {
      lines[side].box.style.paddingBottom = fit[side] ? "" : `${each.offsetHeight + PREDICTED_GAP}px`;
    });
    if (isMoved || fit.includes(false)) attention.measure(lists);
    predictions.forEach((each, side) => {
      const { right, top, bottom } = placeOf(lasts[side]);
      const [x, y] = fit[side] ? [right, top] : [placeOf(lines[side].chips[0]).left - PREDICTED_GAP, bottom];
      each.style.translate = `${x + PREDICTED_GAP}px ${fit[side] ? y : y + PREDICTED_GAP}px`;
    });
  }

  get isJoined() {
    return this.body.classList.contains("joined");
  }

  // The last token, or the last that both runs have.
  get last() {
    const { presence } = this.props;
    const shared = presence.findLastIndex((each) => each === "both" || each === "changed");
    return shared < 0 ? presence.length - 1 : shared;
  }

  get isAtRest() {
    const { pinned, hovered } = this;
    return [...pinned.query, ...pinned.key].length === 0 && hovered.query === null && hovered.key === null;
  }

  // The tokens of an end that colour those of the other one. At rest the last token says where it looks.
  /** @type {(end: Side) => number[]} */
  centres(end) {
    if (this.isPlain) return [];
    if (this.pinned[end].length > 0) return this.pinned[end];
    const hovered = this.hovered[end];
    if (hovered !== null) return [hovered];
    const says = end === "query" && this.direction === "from" && !this.props.columns && this.isAtRest;
    return says ? [this.last] : [];
  }

  colour(inSight = false, isMoving = true) {
    const { theme } = this;
    if (!theme) return;
    this.tellResting();
    if (this.isJoined) this.attention.show(theme, this.links(theme), isMoving);
    const [first, , compared] = this.comparison.heads.map((head) => this.colourLines(head, inSight));
    this.drawLegend(theme, first, compared);
    this.note.textContent = this.lines.map(({ sumName }) => sumName).find(Boolean) ?? "";
  }

  // The token that says where it looks while none is pinned or pointed at.
  tellResting() {
    const { view, isAtRest } = this;
    const resting = (isAtRest ? this.centres("query")[0] : null) ?? null;
    if (resting !== view.link.latest("resting")) view.link.send("resting", resting);
  }

  // Those of the coloured tokens; of two lines of text at rest, the largest of all.
  /** @param {Theme} theme */
  links(theme) {
    const { props, isAtRest } = this;
    const colouring = this.lines.filter(({ centres }) => centres.length > 0);
    const [chosen] = colouring.filter(({ end }) => end !== "query").concat(colouring);
    if (chosen) return colouring.filter(({ end }) => end === chosen.end).flatMap((line) => line.links(theme, line.centres));
    if (!props.columns || !isAtRest) return [];
    const sources = this.lines.filter(({ end }) => end === "key");
    return sources.flatMap((line) => line.links(theme, upTo(props.labels.length), LEAST_AT_REST));
  }

  // Unless it shows these scales already.
  /** @param {Theme} theme @param {ColourScale} first @param {ColourScale} [compared] */
  drawLegend(theme, first, compared) {
    /** @type {[ColourScale, ColourScale | undefined, Theme]} */
    const shows = [first, compared, theme];
    if (this.legendShows?.every((each, index) => each === shows[index])) return;
    this.legendShows = shows;
    this.setLegend(...shows);
  }

  // Of a scale that no other component of the group tells of.
  /** @param {ColourScale} first @param {ColourScale | undefined} compared @param {Theme} theme */
  setLegend(first, compared, theme) {
    const [quantity, difference] = [quantityOf(this.props), this.comparison.sides[2]];
    /** @type {ScaleBar[]} */
    const bars = [{ scale: first, quantity, title: "" }];
    if (compared) bars.push({ scale: compared, quantity: `${difference}: ${quantity}`, title: difference });
    this.legend.replaceChildren(...ownBars(this.view.link, bars).map(({ scale, title }) => scale.bar(theme, title)));
  }

  // What stands over a line: a weight has two decimals, as in the page's heading.
  /** @param {number} value */
  valueText(value) {
    const isWeight = this.props.show === "weight" && Math.abs(value) >= 0.01;
    return isWeight ? withMinus(value.toFixed(2)) : inDigits(value, 2);
  }

  // A head's lines on one scale, which it returns.
  /** @param {Shown} head @param {boolean} inSight */
  colourLines(head, inSight) {
    const lines = this.lines.filter((line) => line.head === head);
    const scales = lines.map((line) => line.scale());
    const scale = scales.reduce((one, other) => (other.limit > one.limit ? other : one));
    for (const line of lines) line.colour(scale, inSight);
    return scale;
  }

  /** @param {Hovered | null} cell */
  mark(cell) {
    this.hovered = { query: cell?.query ?? null, key: cell?.key ?? null };
    this.colour(true);
  }

  /** @param {Pin | null} pin */
  setPin(pin) {
    this.pinned = { query: pin?.queries ?? [], key: pin?.keys ?? [] };
    this.colour();
  }

  // Pins tokens of one end, and none of the other.
  /** @param {Side} end @param {number[]} places */
  pin(end, places) {
    const pinned = { query: [], key: [], [end]: places };
    const pin = places.length > 0 ? { queries: pinned.query, keys: pinned.key } : null;
    this.setPin(pin);
    this.view.link.send("pin", pin);
  }

  /** @param {Direction} direction */
  turn(direction) {
    const [line] = this.lines;
    const centres = this.pinned[line.pinsAs];
    this.direction = direction;
    if (centres.length > 0) this.pin(line.pinsAs, centres);
    this.mark(null);
  }

  // One token alone, or none if it is the one that is pinned.
  /** @param {Side} end @param {number} place */
  choose(end, place) {
    const pinned = this.pinned[end];
    this.pin(end, pinned.length === 1 && pinned[0] === place ? [] : [place]);
  }

  // One token more or fewer.
  /** @param {Side} end @param {number} place */
  toggle(end, place) {
    const pinned = this.pinned[end];
    const others = pinned.filter((other) => other !== place);
    this.pin(end, others.length < pinned.length ? others : [...pinned, place].sort((one, other) => one - other));
  }

  /** @param {ChipLine} line @param {number} place @param {number} x @param {number} y */
  hover(line, place, x, y) {
    /** @type {Hovered} */
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

/** @type {(one: Axes, other: Axes) => boolean} */
const hasSameTokens = (one, other) =>
  String(one.query.labels) === String(other.query.labels) && String(one.key.labels) === String(other.key.labels);
