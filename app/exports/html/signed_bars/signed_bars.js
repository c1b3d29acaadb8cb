// Signed numbers as bars. All rows share one scale, on which zero is marked.
class SignedBars {
  listeners = {};

  constructor(view) {
    this.view = view;
    this.legend = element("div", "legend");
    this.list = element("div", "rows");
    this.list.setAttribute("role", "list");
    view.root.append(this.legend, this.list);
    this.list.onpointermove = (event) => this.point(event);
    this.list.onpointerleave = () => view.tooltip.hide();
  }

  update(props, { spans }) {
    Object.assign(this, props);
    const across = 2 * this.series.length;
    this.spans = this.labels.map((_, row) => {
      const ends = Array.from(spans.values.slice(row * across, (row + 1) * across));
      return this.series.map((_, slot) => [ends[2 * slot], ends[2 * slot + 1]]);
    });
    this.list.ariaLabel = this.title;
  }

  setValue() {}

  draw(theme) {
    const [less, more] = [0.22, 0.78].map((share) => cssColour(colourAt(theme.diverging, share)));
    this.list.style.setProperty("--less", less);
    this.list.style.setProperty("--more", more);
    const ends = this.spans.flat(2).filter(Number.isFinite);
    const [low, high] = [Math.min(0, ...ends), Math.max(0, ...ends)];
    this.isSigned = low < 0;
    this.share = (value) => (100 * (value - low)) / (high - low || 1);
    const names = this.series.length > 1 ? this.series.map((name, slot) => legendSwatch(name, `bar${slot}`)) : [];
    this.legend.replaceChildren(legendEntry(element("span", "title", this.title)), ...names);
    this.rows = this.labels.map((label, row) => this.row(label, row));
    this.list.replaceChildren(...this.rows);
  }

  row(label, at) {
    const row = element("div", `row ${this.kinds[at]}`);
    row.setAttribute("role", "listitem");
    const track = element("span", "track");
    const zero = element("span", "zero");
    zero.style.left = `${this.share(0)}%`;
    track.append(...this.spans[at].map(([from, to], slot) => this.bar(from, to, slot)), zero);
    row.append(element("span", "name", label), track, element("span", "value", this.texts[at]));
    return row;
  }

  bar(from, to, slot) {
    const line = element("span", "line");
    const bar = element("span", `bar ${this.series.length > 1 ? `bar${slot}` : ""} ${to < from ? "less" : "more"}`);
    bar.style.left = `${this.share(Math.min(from, to))}%`;
    bar.style.width = `${Math.abs(this.share(to) - this.share(from))}%`;
    line.append(bar);
    return line;
  }

  point(event) {
    const at = this.rows.indexOf(event.target.closest(".row"));
    if (at < 0) return this.view.tooltip.hide();
    const text = this.isSigned ? withSign : significant;
    const rows = this.spans[at].map(([from, to], slot) => [this.series[slot], text(to - from)]);
    const [[from, to]] = this.spans[at];
    const soFar = from === 0 || this.series.length > 1 ? [] : [["so far", withSign(to)]];
    this.view.tooltip.show(event.clientX, event.clientY, this.labels[at], [...rows, ...soFar]);
  }
}
