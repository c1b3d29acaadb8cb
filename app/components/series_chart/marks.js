// How lines and bars are drawn in the picture, and what they look like in its legend.
const STRONG = ["#4f8fd0", "#cc7722"]; // at least 3 to 1 against the page, light and dark; told apart by every kind of sight
const BAR_SHARE = 0.76; // of the room that a place has
const WIDEST_BAR = 34; // CSS pixels
const MOST_INK = 10; // faint lines that may lie on each other before they are as dark as a strong one

class LineMarks {
  constructor(chart) {
    this.chart = chart;
  }

  get padding() {
    return this.chart.series.some(({ words }) => words.length > 0) ? 20 : 8; // for words, and for markers at the ends
  }

  paint(context) {
    const { faint, series, theme } = this.chart;
    context.lineWidth = 1;
    context.lineJoin = "round";
    context.strokeStyle = cssColour(theme.text, Math.max(0.05, Math.min(0.3, MOST_INK / faint.length)));
    for (const values of faint) this.stroke(context, values);
    for (const each of series) this.paintStrong(context, each);
  }

  paintStrong(context, { values, words, dashed }) {
    this.take(context, dashed);
    this.stroke(context, values);
    context.setLineDash([]);
    const points = upTo(values.length).filter((place) => !Number.isNaN(values[place]));
    for (const place of points) this.marker(context, this.chart.x(place), this.chart.y(values[place]), dashed);
    context.font = labelFont(this.chart.theme);
    context.textAlign = "center";
    context.fillStyle = cssColour(this.chart.theme.text);
    let end = -Infinity; // of the last word, which no other may touch
    for (const place of points.filter((place) => words[place])) {
      const half = context.measureText(words[place]).width / 2;
      if (this.chart.x(place) - half < end + 4) continue;
      end = this.chart.x(place) + half;
      const above = this.isAbove(place, values, dashed);
      context.textBaseline = above ? "bottom" : "top";
      context.fillText(words[place], this.chart.x(place), this.chart.y(values[place]) + (above ? -6 : 7));
    }
  }

  // Whether a line's words stand above it: those of the lower one of two stand below, so that they do not meet.
  isAbove(place, values, dashed) {
    const other = this.chart.series.find((each) => each.dashed !== dashed);
    const ahead = other ? values[place] - other.values[place] : NaN;
    return ahead ? ahead > 0 : !dashed;
  }

  stroke(context, values) {
    context.beginPath();
    values.forEach((value, place) => {
      const isFirst = place === 0 || Number.isNaN(values[place - 1]);
      if (!Number.isNaN(value)) context[isFirst ? "moveTo" : "lineTo"](this.chart.x(place), this.chart.y(value));
    });
    context.stroke();
  }

  take(context, dashed) {
    context.strokeStyle = context.fillStyle = STRONG[Number(dashed)];
    context.lineWidth = 2;
    context.setLineDash(dashed ? [6, 4] : []);
  }

  // A circle, or of the dashed line a diamond.
  marker(context, x, y, dashed) {
    context.beginPath();
    if (dashed) for (const [right, down] of [[0, -5], [5, 0], [0, 5], [-5, 0]]) context.lineTo(x + right, y + down);
    else context.arc(x, y, 3.5, 0, 2 * Math.PI);
    context.fill();
  }

  // Its looks in the legend, which style sheets draw.
  sample({ dashed }) {
    return { kind: dashed ? "line dashed" : "line", colour: STRONG[Number(dashed)] };
  }
}

class BarMarks {
  padding = 0;

  constructor(chart) {
    this.chart = chart;
  }

  paint(context) {
    const { chart } = this;
    const at = (place) => chart.series.filter(({ values }) => !Number.isNaN(values[place]));
    const standing = upTo(chart.places.length).map(at);
    const most = Math.max(1, ...standing.map((bars) => bars.length));
    const width = Math.min(WIDEST_BAR, (chart.pitch * BAR_SHARE) / most);
    const fills = new Map(chart.series.map((each) => [each, this.fill(context, each)]));
    standing.forEach((bars, place) => {
      bars.forEach((each, index) => {
        const left = chart.x(place) + (index - bars.length / 2) * width;
        const [zero, end] = [chart.y(0), chart.y(each.values[place])];
        context.fillStyle = fills.get(each);
        context.fillRect(left, Math.min(zero, end), Math.max(1, width - 1), Math.max(0.5, Math.abs(end - zero)));
      });
    });
    context.fillStyle = cssColour(chart.theme.faded);
    context.fillRect(chart.left, chart.y(0) - 0.5, chart.width - chart.left, 1);
  }

  sample(each) {
    return { kind: each.hatched ? "bars hatched" : "bars", colour: this.plain(each) };
  }

  plain({ colour }) {
    const { background, text } = this.chart.theme;
    const grey = (share) => cssColour(mixColours(background, text, share));
    return { blue: STRONG[0], orange: STRONG[1], grey: grey(0.55), "light grey": grey(0.3) }[colour];
  }

  fill(context, each) {
    const plain = this.plain(each);
    return each.hatched ? hatchedFill(context, plain, cssColour(this.chart.theme.background)) : plain;
  }
}

// A colour with diagonal lines through it.
function hatchedFill(context, colour, line) {
  const tile = new OffscreenCanvas(6, 6);
  const on = tile.getContext("2d");
  on.fillStyle = colour;
  on.fillRect(0, 0, 6, 6);
  on.strokeStyle = line;
  on.lineWidth = 1.6;
  on.beginPath();
  for (const shift of [-6, 0, 6]) {
    on.moveTo(shift - 1, 7);
    on.lineTo(shift + 7, -1);
  }
  on.stroke();
  return context.createPattern(tile, "repeat");
}
