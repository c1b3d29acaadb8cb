// Signed numbers as bars. All rows share one scale, on which zero is marked.
/**
 * @typedef {{ title: string, series: string[], labels: string[], texts: string[], kinds: string[] }} SignedBarsProps
 * of signed_bars/__init__.py
 */

class SignedBars {
  listeners = {};
  /** @type {SignedBarsProps} */
  props;
  /** @type {[from: number, to: number][][]} */
  spans = []; // of each row, one a series
  /** @type {HTMLElement[]} */
  rows = [];
  isSigned = false;
  /** @type {(value: number) => number} */
  share; // a value's place, in percent

  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.legend = element("div", "legend");
    this.list = element("div", "rows");
    this.list.setAttribute("role", "list");
    view.root.append(this.legend, this.list);
    this.list.onpointermove = (event) => this.point(event);
    this.list.onpointerleave = () => view.tooltip.hide();
  }

  /** @param {SignedBarsProps} props @param {{ spans: Floats }} arrays */
  update(props, { spans }) {
    this.props = props;
    const across = 2 * props.series.length;
    this.spans = props.labels.map((_, row) => {
      const ends = Array.from(spans.values.slice(row * across, (row + 1) * across));
      return props.series.map((_, slot) => [ends[2 * slot], ends[2 * slot + 1]]);
    });
    this.list.ariaLabel = props.title;
  }

  setValue() {}

  /** @param {Theme} theme */
  draw(theme) {
    const [less, more] = [0.22, 0.78].map((share) => cssColour(colourAt(theme.diverging, share)));
    this.list.style.setProperty("--less", less);
    this.list.style.setProperty("--more", more);
    const { series, labels, title } = this.props;
    const ends = this.spans.flat(2).filter(Number.isFinite);
    const [low, high] = [Math.min(0, ...ends), Math.max(0, ...ends)];
    this.isSigned = low < 0;
    this.share = (value) => (100 * (value - low)) / (high - low || 1);
    const names = series.length > 1 ? series.map((name, slot) => legendSwatch(name, `bar${slot}`)) : [];
    this.legend.replaceChildren(legendEntry(element("span", "title", title)), ...names);
    this.rows = labels.map((label, row) => this.row(label, row));
    this.list.replaceChildren(...this.rows);
  }

  /** @param {string} label @param {number} at */
  row(label, at) {
    const row = element("div", `row ${this.props.kinds[at]}`);
    row.setAttribute("role", "listitem");
    const track = element("span", "track");
    const zero = element("span", "zero");
    zero.style.left = `${this.share(0)}%`;
    track.append(...this.spans[at].map(([from, to], slot) => this.bar(from, to, slot)), zero);
    row.append(element("span", "name", label), track, element("span", "value", this.props.texts[at]));
    return row;
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

  /** @param {PointerEvent} event */
  point(event) {
    const at = this.rows.findIndex((row) => row.contains(targetOf(event)));
    if (at < 0) return this.view.tooltip.hide();
    const { series, labels } = this.props;
    const text = this.isSigned ? withSign : significant;
    /** @type {TooltipRow[]} */
    const rows = this.spans[at].map(([from, to], slot) => [series[slot], text(to - from)]);
    const [[from, to]] = this.spans[at];
    /** @type {TooltipRow[]} */
    const soFar = from === 0 || series.length > 1 ? [] : [["so far", withSign(to)]];
    this.view.tooltip.show(event.clientX, event.clientY, labels[at], [...rows, ...soFar]);
  }
}
