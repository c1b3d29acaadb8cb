// Lines or bars over named places, with a value axis of round numbers. What is pointed at is a place, of which all numbers
// are told; its band is on a second canvas under the pointer, so that the picture is drawn once.
const PLOT_HEIGHT = 230; // CSS pixels
const VALUE_ROOM = 38; // from one mark of the value axis to the next
const PLACES_ROOM = 22;
const ALONG_ROOM = 16;
const CHART_HEIGHT = PLOT_HEIGHT + PLACES_ROOM + ALONG_ROOM;
const PLACE_STEPS = { ArrowLeft: (at) => at - 1, ArrowRight: (at) => at + 1, Home: () => 0, End: () => Infinity };
const MARKS = { lines: LineMarks, bars: BarMarks };

class SeriesChart {
  listeners = {};
  at = null;

  constructor(view) {
    this.view = view;
    this.legend = element("div", "legend");
    Object.assign(this, pointedStage(this));
    view.root.append(this.legend, this.stage);
  }

  update(props, { values, faint }) {
    const rows = ({ values, shape }) => upTo(shape[0]).map((row) => values.subarray(row * shape[1], (row + 1) * shape[1]));
    Object.assign(this, props);
    this.series = rows(values).map((row, slot) => ({ ...props.series[slot], values: row }));
    this.faint = rows(faint);
    this.painter = new MARKS[this.kind](this);
    this.at = null;
    this.stage.setAttribute("aria-roledescription", `chart of ${this.kind}`);
    const names = this.shownSeries.map(({ name }) => name).filter(Boolean);
    this.stage.ariaLabel = `${[this.title, ...names].join(", ")}; ${this.places.length} places. Arrow keys move.`;
  }

  // A series without any number is no part of the picture.
  get shownSeries() {
    return this.series.filter(({ values }) => values.some((value) => !Number.isNaN(value)));
  }

  setValue() {}

  draw(theme, width) {
    Object.assign(this, { theme, width });
    const context = this.canvas.getContext("2d");
    context.font = labelFont(theme);
    this.layAxis();
    const wide = (texts) => Math.ceil(Math.max(...texts.map((text) => context.measureText(text).width)));
    this.left = wide(this.ticks.map((tick) => this.text(tick))) + 2 * LABEL_GAP;
    this.pitch = (width - this.left) / this.places.length;
    this.labelled = labelStep(this.pitch, wide(this.places) + 8);
    this.drawLegend();
    this.paint();
    this.mark();
  }

  // The marks of the value axis, and how far up values lie.
  layAxis() {
    const most = PLOT_HEIGHT / VALUE_ROOM;
    const [low, high] = this.ends();
    this.ticks = this.log ? logTicks(low, high, most) : linearTicks(low, high, most);
    const of = this.log ? Math.log : (value) => value;
    const [from, to] = (this.log ? [low, high] : [this.ticks[0], this.ticks.at(-1)]).map(of);
    const { padding } = this.painter;
    const room = PLOT_HEIGHT - 2 * padding - 1;
    this.y = (value) => PLOT_HEIGHT - padding - 1 - ((of(value) - from) / (to - from || 1)) * room;
  }

  // The least and the greatest number, of which on a logarithmic axis only those above zero count, on any other zero too.
  ends() {
    let [low, high] = this.log ? [Infinity, 0] : [0, 0];
    for (const values of [...this.series.map(({ values }) => values), ...this.faint]) {
      for (const value of values) {
        if (Number.isNaN(value) || (this.log && value <= 0)) continue;
        low = Math.min(low, value);
        high = Math.max(high, value);
      }
    }
    return high < low ? [1, 1] : [low, high];
  }

  x(place) {
    return this.left + (place + 0.5) * this.pitch;
  }

  text(value) {
    return this.percent ? `${plainNumber(100 * value)}%` : plainNumber(value);
  }

  drawLegend() {
    const entry = (name, { kind, colour }) => {
      const sample = element("span", `sample ${kind}`);
      sample.style.color = colour;
      return legendEntry(sample, element("span", "title", name));
    };
    const faint = { kind: "line faint", colour: cssColour(this.theme.text, 0.4) };
    this.legend.replaceChildren(
      legendEntry(element("span", "title", this.title)),
      ...(this.faint.length > 0 ? [entry(this.faintName, faint)] : []),
      ...this.shownSeries.filter(({ name }) => name).map((each) => entry(each.name, this.painter.sample(each))),
    );
  }

  paint() {
    const { theme, left, width } = this;
    const context = sizedContext(this.canvas, width, CHART_HEIGHT);
    context.fillStyle = cssColour(theme.background);
    context.fillRect(0, 0, width, CHART_HEIGHT);
    context.font = labelFont(theme);
    [context.textAlign, context.textBaseline] = ["right", "middle"];
    for (const tick of this.ticks) {
      const y = Math.round(this.y(tick));
      context.fillStyle = cssColour(theme.text, 0.1);
      context.fillRect(left, y, width - left, 1);
      context.fillStyle = cssColour(theme.faded);
      context.fillText(this.text(tick), left - LABEL_GAP, Math.max(LABEL_FONT_SIZE / 2, y + 0.5));
    }
    this.painter.paint(context);
    this.paintPlaces(context);
  }

  paintPlaces(context) {
    context.fillStyle = cssColour(this.theme.faded);
    context.font = labelFont(this.theme);
    [context.textAlign, context.textBaseline] = ["center", "middle"];
    const named = upTo(this.places.length).filter((place) => place % this.labelled === 0);
    for (const place of named) context.fillText(this.places[place], this.x(place), PLOT_HEIGHT + PLACES_ROOM / 2 + 1);
    context.fillText(this.along, (this.left + this.width) / 2, CHART_HEIGHT - ALONG_ROOM / 2 - 1);
  }

  mark() {
    if (this.at === null) return clearCanvas(this.marks);
    const context = sizedContext(this.marks, this.width, CHART_HEIGHT);
    context.fillStyle = cssColour(this.theme.text, 0.07);
    context.fillRect(this.x(this.at - 0.5), 0, this.pitch, PLOT_HEIGHT + PLACES_ROOM);
  }

  under(event) {
    const frame = this.canvas.getBoundingClientRect();
    const place = Math.floor((event.clientX - frame.left - this.left) / this.pitch);
    return place >= 0 && place < this.places.length ? place : null;
  }

  point(place, x, y) {
    if (place !== this.at) {
      this.at = place;
      this.mark();
    }
    if (place === null) return this.view.tooltip.hide();
    this.view.tooltip.show(x, y, this.places[place], this.describe(place));
  }

  leave() {
    this.point(null);
  }

  // [name, value] rows for a tooltip.
  describe(place) {
    const here = this.series.filter(({ values }) => !Number.isNaN(values[place]));
    return here.map(({ name, values, words }) => [
      name || this.title,
      [this.text(values[place]), words?.[place]].filter(Boolean).join(", "),
    ]);
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in PLACE_STEPS) this.move(PLACE_STEPS[event.key]);
    else if (event.key === "Escape") this.leave();
    else return;
    event.preventDefault();
  }

  move(step) {
    const last = this.places.length - 1;
    const place = Math.min(last, Math.max(0, step(this.at ?? (step(0) < 0 ? last + 1 : -1))));
    const frame = this.canvas.getBoundingClientRect();
    this.point(place, frame.left + this.x(place), frame.top + PLOT_HEIGHT / 2);
    this.view.announce([this.places[place], ...this.describe(place).flat()].join(" "));
  }
}

export default (component) => mountView(component, SeriesChart);
