// Signed numbers as bars. All rows share one scale, on which zero is marked. Bars of one token of several are those of the
// cell that is chosen in a map of the group.
/**
 * Of signed_bars/__init__.py: `bars_by_place` names the places, and leaves texts and kinds to the numbers.
 * @typedef {{ title: string, series: string[], labels: string[], texts?: string[], kinds?: string[],
 *   places?: string[] }} SignedBarsProps
 */

/** @implements {Component} */
class SignedBars {
  /** @type {Listeners} */
  listeners = { chosen: ([, place]) => this.setValue(place) };
  /** @type {SignedBarsProps} */
  props;
  /** @type {Floats} */
  ends; // [place, row, twice the series]
  /** @type {[from: number, to: number][][]} */
  spans = []; // of each row, one a series
  /** @type {HTMLElement[]} */
  rows = [];
  isSigned = false;
  /** @type {Theme | undefined} */
  theme;
  /** @type {(value: number) => number} */
  share; // a value's place, in percent

  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.legend = element("div", "legend");
    this.list = element("div", "rows");
    this.list.setAttribute("role", "list");
    view.root.append(this.legend, this.list);
    view.tooltip.follow(this.list, () => this.rows, (at) => this.told(at));
  }

  /** @param {SignedBarsProps} props @param {{ ends: Floats }} arrays */
  update(props, { ends }) {
    this.props = props;
    this.ends = ends;
  }

  /** @param {number | null} place */
  setValue(place) {
    const { series, labels, title, places } = this.props;
    const [, rows, across] = this.ends.shape;
    this.spans = labels.map((_, row) => {
      const first = ((place ?? 0) * rows + row) * across;
      const ends = this.ends.values.slice(first, first + across);
      return series.map((_, slot) => [ends[2 * slot], ends[2 * slot + 1]]);
    });
    this.list.ariaLabel = places && place !== null ? `${title} at ${place} ${places[place]}` : title;
    if (this.theme) this.draw(this.theme);
  }

  /** @param {Theme} theme */
  draw(theme) {
    this.theme = theme;
    const { series, labels } = this.props;
    const ends = this.spans.flat(2).filter(Number.isFinite);
    const [low, high] = [Math.min(0, ...ends), Math.max(0, ...ends)];
    this.isSigned = low < 0;
    this.share = (value) => (100 * (value - low)) / (high - low || 1);
    const names = series.length > 1 ? series.map((name, slot) => legendSwatch(name, `bar${slot}`)) : [];
    this.legend.replaceChildren(legendEntry(element("span", "title", this.list.ariaLabel ?? "")), ...names);
    if (ends.length === 0) this.legend.append(legendSwatch("not in this run", "absent"));
    this.rows = labels.map((label, row) => this.row(label, row));
    this.list.replaceChildren(...this.rows);
  }

  /** @param {string} label @param {number} at */
  row(label, at) {
    const row = element("div", `row ${this.props.kinds?.[at] ?? ""}`);
    row.setAttribute("role", "listitem");
    const track = element("span", "track");
    const zero = element("span", "zero");
    zero.style.left = `${this.share(0)}%`;
    track.append(...this.spans[at].map(([from, to], slot) => this.bar(from, to, slot)), zero);
    const text = this.props.texts?.[at] ?? this.text(this.spans[at][0][1]);
    row.append(element("span", "name", label), track, element("span", "value", text));
    return row;
  }

  /** @param {number} value */
  text(value) {
    if (Number.isNaN(value)) return "–";
    return this.isSigned ? withSign(value) : significant(value);
  }

  /** @param {number} from @param {number} to @param {number} slot */
  bar(from, to, slot) {
    const line = element("span", "line");
    const bar = element("span", `bar ${this.props.series.length > 1 ? `bar${slot}` : ""} ${to < from ? "less" : "more"}`);
    bar.style.left = `${this.share(Math.min(from, to))}%`;
    bar.style.width = `${Math.abs(this.share(to) - this.share(from))}%`;
    line.append(bar);
    return line;
  }

  /** @type {(at: number) => TooltipText} */
  told(at) {
    const { series, labels } = this.props;
    /** @type {TooltipRow[]} */
    const rows = this.spans[at].map(([from, to], slot) => [series[slot], this.text(to - from)]);
    const [[from, to]] = this.spans[at];
    /** @type {TooltipRow[]} */
    const soFar = from === 0 || series.length > 1 ? [] : [["so far", withSign(to)]];
    return [labels[at], [...rows, ...soFar]];
  }
}
