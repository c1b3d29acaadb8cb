// Two maps of all heads side by side, layers downwards. The head under the pointer is framed in both.
const LABEL = 34; // CSS pixels for a layer's name
const GAP = 40; // between the maps; head_maps.css has it too
const LARGEST_CELL = 44;
const SMALLEST_CELL = 9;
const NARROW = 620; // below it the maps stand one under the other
const HEAD_LABEL = 30;

const MAPS = { mean: "mean", sd: "standard deviation" };
const valueText = (value) => (Number.isNaN(value) ? "–" : significant(value));

class HeadMaps {
  listeners = {};

  constructor(view) {
    this.view = view;
    this.heading = element("h3");
    this.maps = element("div", "maps");
    view.root.append(this.heading, this.maps);
  }

  update(props, arrays) {
    Object.assign(this, props, arrays);
  }

  setValue() {}

  draw(theme, width) {
    const [, heads] = this.mean.shape;
    const room = (width < NARROW ? width : (width - GAP) / 2) - LABEL;
    this.cell = Math.min(LARGEST_CELL, Math.max(SMALLEST_CELL, Math.floor(room / heads)));
    this.cells = {};
    this.heading.textContent = this.title;
    this.maps.replaceChildren(...Object.keys(MAPS).map((name) => this.map(theme, name)));
  }

  map(theme, name) {
    const { values, shape } = this[name];
    const limit = values.filter(Number.isFinite).reduce((high, value) => Math.max(high, value), 0) || 1;
    const legend = element("div", "legend");
    const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => [share, String(Number((share * limit).toPrecision(3)))]);
    drawLegend(legend, theme, { title: `${MAPS[name]} (${this.unit})`, ticks });
    const grid = element("div", "grid");
    grid.style.gridTemplateColumns = `${LABEL}px repeat(${shape[1]}, ${this.cell}px)`;
    grid.setAttribute("role", "img");
    grid.ariaLabel = `${MAPS[name]} of every head, a square each; the table of heads has the numbers`;
    this.cells[name] = Array.from(values, (value, place) => {
      const cell = element("div", "cell");
      cell.style.background = cssColour(Number.isNaN(value) ? theme.absent : colourAt(theme.map, value / limit));
      cell.onpointermove = (event) => this.hover(place, event);
      cell.onpointerleave = () => this.leave(place);
      return cell;
    });
    grid.append(...this.lines(this.cells[name], shape));
    const map = element("div", "map");
    map.append(legend, grid);
    return map;
  }

  // The cells with the names of layers and heads beside them.
  lines(cells, [layers, heads]) {
    const step = labelStep(this.cell, HEAD_LABEL);
    const names = Array.from({ length: heads }, (_, head) => element("span", "head", head % step ? "" : `H${head}`));
    const lines = Array.from({ length: layers }, (_, layer) => [
      element("span", "layer", `L${layer}`),
      ...cells.slice(layer * heads, (layer + 1) * heads),
    ]);
    return [element("span"), ...names, ...lines.flat()];
  }

  frame(place, framed) {
    for (const cells of Object.values(this.cells)) cells[place].classList.toggle("framed", framed);
  }

  hover(place, event) {
    const [, heads] = this.mean.shape;
    const rows = Object.entries(MAPS).map(([name, title]) => [title, valueText(this[name].values[place])]);
    this.frame(place, true);
    const title = headName([Math.floor(place / heads), place % heads]);
    this.view.tooltip.show(event.clientX, event.clientY, title, [...rows, ["prompts", String(this.count.values[place])]]);
  }

  leave(place) {
    this.frame(place, false);
    this.view.tooltip.hide();
  }
}

export default (component) => mountView(component, HeadMaps);
