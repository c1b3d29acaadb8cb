// The residual stream of one run, or of two and their difference: a map of its length, and under it what each part of
// the model adds at the chosen place, and how the direction turns. A click on the map chooses a place.
const ROW = 20; // CSS pixels
const SMALLEST_COLUMN = 9;
const LARGEST_COLUMN = 44;
const BELOW = 74; // for the tokens' labels
const KINDS = { embedding: "#8a94a0", attention: "#4f8fd0", MLP: "#cc7722" };

class ResidualMap {
  listeners = {};

  constructor(view) {
    this.view = view;
    this.maps = element("div");
    this.token = element("h3");
    [this.adds, this.made, this.cosines] = [1, 2, 3].map(() => element("div", "parts"));
    const turns = element("h3", "", "How its direction turns: cosines between layers");
    view.root.append(this.maps, this.token, this.adds, this.made, turns, this.cosines);
  }

  update(props, arrays) {
    Object.assign(this, props);
    this.places = this.labels.length;
    const of = (name) => this.sides.map((_, slot) => arrays[`${name}${slot}`]);
    [this.norms, this.lengths, this.shares, this.turns] = ["norms", "lengths", "shares", "cosines"].map(of);
  }

  setValue(place) {
    this.place = place;
  }

  draw(theme, width) {
    this.theme = theme;
    this.left = 52;
    this.column = Math.min(LARGEST_COLUMN, Math.max(SMALLEST_COLUMN, Math.floor((width - this.left) / this.places)));
    this.drawMaps();
    this.drawPlace();
    this.cosines.replaceChildren(...this.sides.map((side, slot) => this.turning(side, slot)));
  }

  isDifference(slot) {
    return slot === 2;
  }

  // How values become colours, and the colour bar's marks: lengths by their logarithm, on one scale for A and B.
  scaleOf(slot) {
    const { map, diverging } = this.theme;
    if (this.isDifference(slot)) {
      const limit = largest([this.norms[slot].values.map(Math.abs)]);
      const marks = [-1, -0.25, 0, 0.25, 1].map((share) => [0.5 + root(share) / 2, numberText(share * limit)]);
      return { map: diverging, marks, share: (value) => 0.5 + root(value / limit) / 2 };
    }
    const own = this.norms.slice(0, 2).map(({ values }) => values.map(Math.log));
    const [low, high] = [-largest(own.map((values) => values.map((value) => -value))), largest(own)];
    const marks = [0, 0.25, 0.5, 0.75, 1].map((at) => [at, numberText(Math.exp(low + at * (high - low)), 3)]);
    return { map, marks, share: (value) => (Math.log(value) - low) / (high - low || 1) };
  }

  drawMaps() {
    this.maps.replaceChildren(
      ...this.sides.flatMap((side, slot) => {
        const scroller = element("div", "scroller");
        const { values, shape } = this.norms[slot];
        const { map, marks, share } = this.scaleOf(slot);
        const legend = element("div", "legend");
        drawLegend(legend, { ...this.theme, map }, { title: title(side, "length of the stream (L2 norm)"), ticks: marks });
        const colour = (value) => colourAt(map, share(value));
        const size = [this.left + this.places * this.column, shape[0] * ROW + BELOW];
        const canvas = drawnCanvas(...size, (context) => this.paintMap(context, values, shape[0], colour));
        canvas.onpointermove = (event) => this.hover(event, side, slot);
        canvas.onpointerleave = () => this.view.tooltip.hide();
        canvas.onclick = (event) => this.choose(this.cellUnder(event, slot)?.place);
        scroller.append(canvas);
        return [legend, scroller];
      }),
    );
  }

  paintMap(context, values, rows, colour) {
    const { theme, left, column, places } = this;
    for (let layer = 0; layer < rows; layer++) {
      const y = (rows - 1 - layer) * ROW;
      label(context, theme, this.layers[layer], left - 8, y + ROW / 2, "right");
      for (let place = 0; place < places; place++) {
        const value = values[layer * places + place];
        context.fillStyle = cssColour(Number.isNaN(value) ? theme.absent : colour(value));
        context.fillRect(left + place * column, y, column - (column > 12), ROW - 1);
      }
    }
    const step = Math.ceil(12 / column);
    for (let place = 0; place < places; place++) {
      const chosen = place === this.place;
      if (place % step && !chosen) continue;
      context.save();
      context.translate(left + (place + 0.5) * column, rows * ROW + 5);
      context.rotate(-Math.PI / 2);
      label(context, theme, fitText(context, this.labels[place], BELOW - 8), 0, 0, "right", chosen);
      context.restore();
    }
    context.strokeStyle = cssColour(theme.pin);
    context.lineWidth = 2;
    context.strokeRect(left + this.place * column, 1, column, rows * ROW - 2);
  }

  cellUnder(event, slot) {
    const frame = event.target.getBoundingClientRect();
    const [rows] = this.norms[slot].shape;
    const place = Math.floor((event.clientX - frame.left - this.left) / this.column);
    const layer = rows - 1 - Math.floor((event.clientY - frame.top) / ROW);
    return place >= 0 && place < this.places && layer < rows ? { place, layer: Math.max(0, layer) } : null;
  }

  hover(event, side, slot) {
    const cell = this.cellUnder(event, slot);
    if (!cell) return this.view.tooltip.hide();
    const value = this.norms[slot].values[cell.layer * this.places + cell.place];
    const heading = `${this.labels[cell.place]}, after ${this.layers[cell.layer]}`;
    this.view.tooltip.show(event.clientX, event.clientY, heading, [[title(side, "L2 norm"), numberText(value)]]);
  }

  choose(place) {
    if (place === undefined) return;
    this.place = place;
    this.drawMaps();
    this.drawPlace();
    this.view.announce(`${this.labels[place]}, place ${place}`);
  }

  drawPlace() {
    this.token.textContent = `At ${this.labels[this.place]}, place ${this.place}`;
    const charts = (name, arrays) => this.sides.map((side, slot) => this.bars(title(side, name), arrays[slot]));
    this.adds.replaceChildren(...charts("What each part adds (L2 norm)", this.lengths));
    this.made.replaceChildren(...charts("Share of the final stream", this.shares));
  }

  bars(name, { values, shape }) {
    const here = Array.from({ length: shape[0] }, (_, part) => values[part * this.places + this.place]);
    const chart = element("figure", "chart");
    const field = element("div", "field");
    const highest = Math.max(0, ...here);
    const lowest = Math.min(0, ...here);
    const pixels = (size) => `${(FIELD * size) / (highest - lowest || 1)}px`;
    here.forEach((value, part) => {
      const bar = element("div", "bar");
      const kind = Object.keys(KINDS).find((each) => this.components[part].endsWith(each));
      bar.style.background = KINDS[kind];
      bar.style.marginTop = pixels(highest - Math.max(0, value));
      bar.style.height = pixels(Math.abs(value));
      bar.onpointermove = (event) =>
        this.view.tooltip.show(event.clientX, event.clientY, this.components[part], [[name, numberText(value)]]);
      bar.onpointerleave = () => this.view.tooltip.hide();
      field.append(bar);
    });
    const zero = element("div", "zero");
    zero.style.top = pixels(highest);
    field.append(zero);
    const known = here.every((value) => !Number.isNaN(value));
    const range = known ? `${numberText(lowest)} to ${numberText(highest)}` : "no such token in this run";
    chart.append(element("figcaption", "", name), element("small", "", range), ...(known ? [field, this.legend()] : []));
    return chart;
  }

  legend() {
    const legend = element("small");
    for (const [kind, colour] of Object.entries(KINDS)) {
      const swatch = element("span", "kind");
      swatch.style.background = colour;
      legend.append(swatch, `${kind}  `);
    }
    return legend;
  }

  turning(side, slot) {
    const { values, shape } = this.turns[slot];
    const limit = this.isDifference(slot) ? largest([values.map(Math.abs)]) || 1 : 1;
    const map = this.isDifference(slot) ? this.theme.diverging : this.theme.map;
    const colour = (value) => colourAt(map, this.isDifference(slot) ? 0.5 + value / limit / 2 : value);
    const chart = element("figure", "chart");
    const [rows] = shape;
    const at = (event) => {
      const frame = event.target.getBoundingClientRect();
      const [x, y] = [event.clientX - frame.left - this.left, event.clientY - frame.top].map((from) => Math.floor(from / ROW));
      return x >= 0 && x < rows && y >= 0 && y < rows ? [y, x] : null;
    };
    const canvas = drawnCanvas(this.left + rows * ROW, rows * ROW, (context) => {
      for (let layer = 0; layer < rows; layer++) {
        label(context, this.theme, this.layers[layer], this.left - 8, (layer + 0.5) * ROW, "right");
        for (let other = 0; other < rows; other++) {
          context.fillStyle = cssColour(colour(values[layer * rows + other]));
          context.fillRect(this.left + other * ROW, layer * ROW, ROW - 1, ROW - 1);
        }
      }
    });
    canvas.onpointermove = (event) => {
      const cell = at(event);
      if (!cell) return this.view.tooltip.hide();
      const names = cell.map((layer) => this.layers[layer]).join(" and ");
      const text = numberText(values[cell[0] * rows + cell[1]]);
      this.view.tooltip.show(event.clientX, event.clientY, names, [[title(side, "cosine"), text]]);
    };
    canvas.onpointerleave = () => this.view.tooltip.hide();
    chart.append(element("figcaption", "", side), canvas);
    return chart;
  }
}

const FIELD = 120; // CSS pixels: the height of a bar chart; residual_map.css has it too

const title = (side, name) => (side ? `${side}: ${name}` : name);
const largest = (lists) => Math.max(...lists.map((values) => values.filter(Number.isFinite).reduce((high, value) => Math.max(high, value), -Infinity)));
const root = (share) => Math.sign(share) * Math.sqrt(Math.abs(share));
const numberText = (value, digits = 4) =>
  Number.isNaN(value) ? "absent" : String(Number(value.toPrecision(digits))).replace("-", "−");

function drawnCanvas(width, height, draw) {
  const canvas = element("canvas");
  canvas.width = Math.ceil(width * devicePixelRatio);
  canvas.height = Math.ceil(height * devicePixelRatio);
  canvas.style.width = `${width}px`;
  const context = canvas.getContext("2d");
  context.scale(devicePixelRatio, devicePixelRatio);
  draw(context);
  return canvas;
}

function label(context, theme, text, x, y, align, strong = false) {
  context.font = `${strong ? 700 : 400} 11px ${theme.codeFont}`;
  context.fillStyle = cssColour(strong ? theme.pin : theme.faded);
  context.textAlign = align;
  context.textBaseline = "middle";
  context.fillText(text, x, y);
}

export default (component) => mountView(component, ResidualMap);
