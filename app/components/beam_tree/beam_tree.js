// Beam search as a tree: a chip for each token that was looked at, lines from what it continues, one chosen branch.
/** @typedef {"kept" | "finished" | "dropped"} BeamState */
/** @typedef {{ labels: string[], parents: (number | null)[], steps: number[], states: BeamState[] }} TreeProps of beam_tree/__init__.py */
/** @typedef {{ logProbs: Floats, totals: Floats, scores: Floats }} TreeArrays */
/** @typedef {number | null} BeamIndex a node's; null for none, or the start */
/** @type {BeamState[]} */
const STATES = ["kept", "finished", "dropped"];
const FINISHED_MARK = "✓";

/** @type {(value: number) => string} */
const short = (value) => withMinus(value.toFixed(2)).replace(/^−0\.00$/, "0.00");

/** @implements {Component} */
class BeamTree {
  /** @type {BeamIndex} */
  chosen = null;
  /** @type {TreeProps} */
  props;
  /** @type {TreeArrays} */
  arrays;
  /** @type {number[][]} */
  children = [];
  /** @type {number[]} */
  first = []; // the start's children
  /** @type {HTMLElement[]} */
  chips = [];
  /** @type {HTMLCanvasElement[]} */
  lines = [];
  /** @type {TreeLayout} */
  layout;
  /** @type {Theme | null} */
  theme = null;

  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.legend = element("div", "legend");
    this.box = widget("tree", "tree");
    view.root.append(this.legend, this.box);
    this.keys = new TreeKeys(this);
    this.hover = view.tooltip.follow(this.box, () => this.chips, (index) => this.tooltipText(index));
    this.box.onscroll = view.tooltip.hide;
    this.box.onclick = (event) => this.click(event);
  }

  /** @param {TreeProps} props @param {TreeArrays} arrays */
  update(props, arrays) {
    const { labels, parents } = props;
    Object.assign(this, { props, arrays });
    this.theme = null;
    this.layout = new TreeLayout(props);
    this.children = labels.map(() => []);
    this.first = [];
    parents.forEach((parent, index) => (parent === null ? this.first : this.children[parent]).push(index));
    this.chips = labels.map((_, index) => this.chip(index));
    this.lines = this.layout.columns.map(() => element("canvas"));
    this.keys.cursor = null;
    this.box.removeAttribute("aria-activedescendant");
    this.box.ariaLabel = `Beam search, ${this.layout.columns.length} steps, ${labels.length} tokens. ${TREE_HELP}`;
    this.box.replaceChildren(this.stepNames(), this.field());
    this.drawLegend();
  }

  /** @param {BeamIndex} chosen */
  setValue(chosen) {
    this.chosen = chosen !== null && chosen < this.props.labels.length ? chosen : null;
    this.mark();
    if (this.chosen !== null) this.reveal(this.chosen);
  }

  /** @param {Theme} theme */
  draw(theme) {
    this.theme = theme;
    this.drawLines();
  }

  drawLines() {
    const { layout, theme } = this;
    if (!theme) return;
    const { parents, states } = this.props;
    const branch = new Set(this.branch(this.chosen));
    /** @type {(index: number) => TreeLine} */
    const line = (index) => {
      const [from, to] = [parents[index], index].map((end) => layout.middle(end));
      return { from, to, look: branch.has(index) ? "chosen" : states[index], isFirst: parents[index] === null };
    };
    layout.columns.forEach((column, place) => drawStep(this.lines[place], theme, layout.height, column.map(line)));
  }

  /** @param {number} index */
  chip(index) {
    const { layout } = this;
    const { labels, steps, states } = this.props;
    const siblings = this.siblings(index);
    const chip = element("div", `node ${states[index]}`);
    chip.id = `node-${index}`;
    chip.setAttribute("role", "treeitem");
    chip.ariaLevel = String(steps[index]);
    chip.ariaPosInSet = String(siblings.indexOf(index) + 1);
    chip.ariaSetSize = String(siblings.length);
    chip.ariaLabel = this.sentence(index);
    chip.style.left = `${layout.left(index)}px`;
    chip.style.top = `${layout.top(index)}px`;
    chip.style.width = `${NODE_WIDTH}px`;
    chip.style.height = `${NODE_HEIGHT}px`;
    const token = element("div", "token", labels[index]);
    const { logProb, score } = this.numbers(index);
    const numbers = element("div", "numbers", `${short(logProb)} | ${short(score)}`);
    chip.append(token, numbers);
    if (states[index] === "finished") chip.append(element("span", "mark", FINISHED_MARK));
    return chip;
  }

  /** @param {number} index */
  siblings(index) {
    const parent = this.props.parents[index];
    return parent === null ? this.first : this.children[parent];
  }

  // The nodes, and before each step a canvas for the lines to it.
  field() {
    const { layout } = this;
    const field = element("div", "field");
    field.style.width = `${layout.width}px`;
    field.style.height = `${layout.height}px`;
    this.lines.forEach((canvas, place) => (canvas.style.left = `${layout.leftOf(place + 1) - LINE_ROOM}px`));
    field.append(...this.lines, ...this.chips);
    return field;
  }

  // The numbers of the steps, which stay in sight.
  stepNames() {
    const line = element("div", "steps");
    line.ariaHidden = "true";
    line.style.width = `${this.layout.width}px`;
    line.style.height = `${STEPS_HEIGHT}px`;
    this.layout.columns.forEach((_, place) => {
      const name = element("span", "", `step ${place + 1}`);
      name.style.left = `${this.layout.leftOf(place + 1)}px`;
      line.append(name);
    });
    return line;
  }

  drawLegend() {
    const states = STATES.filter((state) => this.props.states.includes(state));
    const name = (/** @type {BeamState} */ state) => (state === "finished" ? `${FINISHED_MARK} finished` : state);
    this.legend.replaceChildren(
      ...states.map((state) => legendSwatch(name(state), `state ${state}`)),
      legendSwatch("chosen", "state chosen"),
      legendEntry(element("span", "title", "under a token: log-probability (nats) | score")),
    );
  }

  // From a node back to the start.
  /** @param {BeamIndex} index */
  branch(index) {
    /** @type {number[]} */
    const nodes = [];
    for (let node = index; node !== null; node = this.props.parents[node]) nodes.push(node);
    return nodes;
  }

  mark() {
    const branch = new Set(this.branch(this.chosen));
    this.chips.forEach((chip, index) => {
      chip.classList.toggle("chosen", branch.has(index));
      chip.ariaSelected = String(index === this.chosen);
    });
    this.drawLines();
  }

  // A node that is chosen already is given up.
  /** @param {number} index */
  choose(index) {
    this.chosen = index === this.chosen ? null : index;
    this.mark();
    this.view.report(this.chosen);
  }

  /** @param {number} index */
  numbers(index) {
    const { logProbs, totals, scores } = this.arrays;
    return { logProb: logProbs.values[index], total: totals.values[index], score: scores.values[index] };
  }

  /** @type {(index: number) => TooltipText} */
  tooltipText(index) {
    const { labels, steps, states } = this.props;
    const { logProb, total, score } = this.numbers(index);
    /** @type {TooltipRow[]} */
    const rows = [
      ["log-probability", `${significant(logProb)} nats`],
      ["total", `${significant(total)} nats`],
      ["score", significant(score)],
      ["step", String(steps[index])],
      ["state", [states[index], ...(index === this.chosen ? ["chosen"] : [])].join(", ")],
    ];
    return [labels[index], rows];
  }

  /** @param {number} index */
  sentence(index) {
    const { logProb, score } = this.numbers(index);
    const { labels, states } = this.props;
    return `${labels[index]}, log-probability ${short(logProb)}, score ${short(score)}, ${states[index]}`;
  }

  /** @param {MouseEvent} event */
  click(event) {
    const index = placeOf(this.chips, event);
    if (index < 0) return;
    this.choose(index);
    this.keys.put(index);
    this.hover(event);
  }

  // Scrolls the box, and not the page, until the node is seen.
  /** @param {number} index */
  reveal(index) {
    const { box, layout } = this;
    const [left, top] = [layout.left(index), layout.top(index)];
    const right = left + NODE_WIDTH + TREE_MARGIN - box.clientWidth;
    const bottom = top + NODE_HEIGHT + TREE_MARGIN - box.clientHeight;
    box.scrollLeft = clamp(box.scrollLeft, right, left - LINE_ROOM);
    box.scrollTop = clamp(box.scrollTop, bottom, top - STEPS_HEIGHT - TREE_MARGIN);
  }
}
