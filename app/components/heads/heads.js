// The selected heads side by side: one scale, one crosshair over all of them, one pinned cell.
const SMALLEST_PANEL = 250; // CSS pixels
const LARGEST_PANEL = 560;
const MOST_COLUMNS = 3;
const PANEL_GAP = 18;
const HELD_KEY_DELAY = 250; // milliseconds
const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

class Heads {
  listeners = {
    hover: (cell) => this.mark(cell),
    pin: (cell) => this.pin(cell, false),
    head: (head) => this.panels.forEach((panel) => panel.underline(head)),
  };
  panels = [];
  hovered = null;
  pinned = null;

  constructor(view) {
    this.view = view;
    this.legend = element("div", "legend");
    this.grid = element("div", "panels");
    this.grid.tabIndex = 0;
    this.grid.setAttribute("role", "application");
    this.grid.setAttribute("aria-roledescription", "attention heatmaps");
    this.grid.onkeydown = (event) => this.press(event);
    view.root.append(this.legend, this.grid);
  }

  update({ heads, queryLabels, keyLabels, scale }, arrays) {
    Object.assign(this, { queryLabels, keyLabels, scale });
    this.theme = null; // nothing is marked before the new panels are drawn
    const patterns = heads.map((_, slot) => new Pattern(arrays[`weights${slot}`], arrays[`logsumexp${slot}`]));
    this.panels = heads.map((head, slot) => new Panel(this, slot, head, patterns[slot]));
    this.masked = this.panels.some((panel) => panel.pattern.masked);
    this.grid.replaceChildren(...this.panels.map((panel) => panel.box));
    const names = heads.map(headName).join(", ");
    this.grid.ariaLabel = `Attention of ${names}. Arrow keys move the pinned cell, Escape unpins.`;
  }

  setValue(pinned) {
    const fits = pinned && pinned[0] < this.queryLabels.length && pinned[1] < this.keyLabels.length;
    this.pinned = fits ? { query: pinned[0], key: pinned[1] } : null;
    this.view.link.send("pin", this.pinned);
    this.mark(null);
  }

  draw(theme, width) {
    this.theme = theme;
    this.colours = weightColours(theme.map, this.scale);
    const fitting = Math.max(1, Math.min(MOST_COLUMNS, Math.floor((width + PANEL_GAP) / (SMALLEST_PANEL + PANEL_GAP))));
    const columns = Math.min(fitting, this.panels.length === 4 ? 2 : this.panels.length);
    const panelWidth = Math.min(LARGEST_PANEL, Math.floor((width - (columns - 1) * PANEL_GAP) / columns));
    this.grid.style.gridTemplateColumns = `repeat(${columns}, ${panelWidth}px)`;
    drawWeightLegend(this.legend, theme, this.scale, this.masked);
    for (const panel of this.panels) panel.draw(theme, panelWidth);
    this.drawMarks();
  }

  mark(cell) {
    this.hovered = cell;
    this.drawMarks();
  }

  drawMarks() {
    if (this.theme) for (const panel of this.panels) panel.drawMarks(this.theme, this.pinned, this.hovered);
  }

  // Pins a cell, or unpins with null. The member of the group that was clicked tells the others; this one tells Python.
  pin(cell, tellGroup = true, delay = 0) {
    this.pinned = cell;
    this.drawMarks();
    if (tellGroup) this.view.link.send("pin", cell);
    this.view.report(cell && [cell.query, cell.key], delay);
  }

  click(cell) {
    const again = this.pinned?.query === cell.query && this.pinned?.key === cell.key;
    this.pin(again ? null : cell);
    this.speak();
  }

  press(event) {
    if (event.key === "Escape") this.pin(null);
    else if (event.key in STEPS) this.move(...STEPS[event.key]);
    else return;
    this.speak();
    event.preventDefault();
  }

  move(down, right) {
    const clamp = (value, count) => Math.min(count - 1, Math.max(0, value));
    const from = this.pinned ?? this.hovered;
    const query = from ? clamp((from.query ?? 0) + down, this.queryLabels.length) : 0;
    const key = from ? clamp((from.key ?? 0) + right, this.keyLabels.length) : 0;
    this.pin({ query, key }, true, HELD_KEY_DELAY);
  }

  speak() {
    const { query, key } = this.pinned ?? { query: null, key: null };
    if (query === null || key === null) return this.view.announce("nothing pinned");
    const weights = this.panels.map((panel) => `${headName(panel.head)} ${panel.pattern.weightText(query, key)}`);
    this.view.announce(`${this.queryLabels[query]} ${query} to ${this.keyLabels[key]} ${key}: ${weights.join(", ")}`);
  }
}

export default (component) => mountView(component, Heads);
