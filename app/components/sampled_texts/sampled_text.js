// One text: its tokens, coloured at rest by how much each is looked at, and around a token that is pointed at by where it
// looks (blue) and who looks at it (orange).
const MAX_LISTED = 3; // tokens in a tooltip, each way
const RESTING = 0.55; // of the colours' way, so that the text is read first
const FAINTEST = 0.05;

/**
 * @typedef {{ tokens: string[], title: string, note: string, group: string, marked: [number, number] | null,
 *   scale: number | null }} Sample
 *   `SampledText` in sampled_texts/__init__.py
 * @typedef {{ queries: Int32Array, keys: Int32Array, weights: Float32Array }} Sparse
 * @typedef {[place: number, weight: number]} Weighed
 */

class ShownText {
  /** @type {Theme | null} */
  theme = null;
  /** @type {number | null} */
  cursor = null;

  /** @param {SampledTexts} list @param {number} place @param {Sample} sample @param {Sparse} sparse */
  constructor(list, place, sample, sparse) {
    this.list = list;
    this.place = place;
    this.sample = sample;
    this.looks = sample.tokens.map(() => /** @type {Weighed[]} */ ([]));
    this.seenBy = sample.tokens.map(() => /** @type {Weighed[]} */ ([]));
    sparse.weights.forEach((weight, cell) => {
      this.looks[sparse.queries[cell]].push([sparse.keys[cell], weight]);
      this.seenBy[sparse.keys[cell]].push([sparse.queries[cell], weight]);
    });
    for (const each of [...this.looks, ...this.seenBy]) each.sort((one, other) => other[1] - one[1]);
    this.tokens = sample.tokens.map((text, place) => element("span", "token", shortLabel(text, place)));
    this.text = element("p", "text");
    this.text.dir = "auto";
    this.text.append(...this.tokens);
    const head = element("div", "heading");
    head.append(element("strong", "", sample.title), element("span", "note", sample.note));
    this.box = optionOf("sequence", `text-${place}`);
    this.box.append(head, this.text);
    this.listen();
  }

  listen() {
    this.text.onpointerover = (event) => this.pointAt(this.tokens.indexOf(targetOf(event)), event.clientX, event.clientY);
    this.text.onpointermove = (event) => this.list.view.tooltip.move(event.clientX, event.clientY);
    this.text.onpointerleave = () => this.rest();
    this.box.onclick = () => this.list.choose(this.place);
  }

  // The line of the strongest cell's query is brought into sight of a long text, at its first drawing, under another.
  reveal() {
    const { marked } = this.sample;
    if (marked === null) return;
    const line = parseFloat(getComputedStyle(this.text).lineHeight);
    this.text.scrollTop = line * (Math.round(this.tokens[marked[0]].offsetTop / line) - 1); // it stands in the text, positioned
  }

  /** @param {Theme} theme */
  draw(theme) {
    this.theme = theme;
    this.rest();
  }

  rest() {
    this.cursor = null;
    this.list.view.tooltip.hide();
    this.tokens.forEach((_, place) => this.paint(place, this.seenMost(place), 0));
    this.tokens.forEach((token, place) => token.classList.toggle("query", place === this.sample.marked?.[0]));
  }

  // The largest weight on a token from a later one: what it gives to itself, as the first one mostly does, says little.
  /** @param {number} place */
  seenMost(place) {
    if (this.sample.scale !== null) return this.seenBy[place][0]?.[1] ?? 0;
    const other = this.seenBy[place].find(([query]) => query !== place);
    return place === 0 || other === undefined ? 0 : other[1];
  }

  // Blue by what flows to the token, orange by what flows from it to the one that is pointed at.
  /** @param {number} place @param {number} seen @param {number} sees */
  paint(place, seen, sees) {
    if (!this.theme) return;
    const weight = Math.min(1, Math.max(seen, sees));
    const share = this.cursor === null && this.sample.scale === null ? RESTING * weight : Math.sqrt(weight);
    const at = (1 + (seen >= sees ? share : -share)) / 2;
    tint(this.tokens[place], share > FAINTEST ? colourAt(this.theme.diverging, at) : null);
  }

  /** @param {number} place @param {number} x @param {number} y */
  pointAt(place, x, y) {
    if (place < 0) return;
    this.cursor = place;
    if (this.sample.scale === null) this.paintAround(place);
    this.list.view.tooltip.show(x, y, this.named(place), this.describe(place));
  }

  /** @param {number} place */
  paintAround(place) {
    const [seen, sees] = [new Map(this.looks[place]), new Map(this.seenBy[place])];
    this.tokens.forEach((token, other) => {
      this.paint(other, seen.get(other) ?? 0, other === place ? 0 : (sees.get(other) ?? 0));
      token.classList.toggle("query", other === place);
    });
  }

  /** @param {number} place */
  named(place) {
    return `${this.sample.tokens[place]} ${place}`;
  }

  /** @type {(place: number) => TooltipRow[]} */
  describe(place) {
    if (this.sample.scale !== null) {
      const share = this.seenMost(place);
      return [["activation", significant(share * this.sample.scale), share]];
    }
    /** @type {(arrow: string, others: Weighed[]) => TooltipRow[]} */
    const rows = (arrow, others) =>
      others.slice(0, MAX_LISTED).map(([other, weight]) => [`${arrow} ${this.named(other)}`, significant(weight), weight]);
    const others = this.seenBy[place].filter(([query]) => query !== place);
    return [...rows("attends to", this.looks[place]), ...rows("attended by", others)];
  }

  // The keyboard's move to the token before or after, from the strongest cell's query.
  /** @param {-1 | 1} step */
  move(step) {
    const from = this.cursor ?? (this.sample.marked?.[0] ?? 0) - step;
    const place = clamp(from + step, 0, this.tokens.length - 1);
    this.tokens[place].scrollIntoView({ block: "nearest" });
    const { right, bottom } = this.tokens[place].getBoundingClientRect();
    this.pointAt(place, right, bottom);
    this.list.view.announce(this.named(place), this.describe(place));
  }
}
