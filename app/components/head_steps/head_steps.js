// The steps of one head. Each is a card: what it does in words, its formula, its matrices in a row, and the followed
// number's arithmetic. Matrices with few numbers are tables, the others pictures that tell their numbers at the pointer.
/** @typedef {"one" | "query" | "token" | "key" | "d_model" | "d_head" | "d_value"} StepAxis */
/** @typedef {{ key: number, component: number }} StepChoice the place of a key, and a component of q, k, v and z */
/** @typedef {{ name: string, rows: StepAxis, columns: StepAxis, cells: boolean, shape: string, array: string }} StepTerm */
/**
 * @typedef {{ title: string, help: string, formula: string, note: string, equations: (string | StepTerm)[][],
 *   spelled: string[] }} HeadStep
 */
/**
 * @typedef {{ title: string, steps: HeadStep[], places: number[], labels: string[], query: number,
 *   entry: number | null, spelled: Record<number, string[][]> | null }} HeadStepsProps of head_steps/__init__.py
 */
/** @typedef {StepTerm & { values: Float32Array, size: number[], scale: ColourScale }} StepMatrix */

const FRAME = 10; // milliseconds
/** @type {Partial<Record<StepAxis, string>>} */
const NAMES = { token: "token", key: "key", d_model: "entry", d_head: "component", d_value: "component" };
/** @type {Partial<Record<StepAxis, keyof StepChoice>>} */
const CHOSEN_BY = { token: "key", key: "key", d_head: "component", d_value: "component" };

/** @implements {Component} */
class HeadSteps {
  /** @type {HeadStepsProps} */
  props;
  /** @type {Record<string, Floats>} */
  arrays;
  /** @type {Theme} */
  theme;
  key = 0;
  component = 0;
  drawing = 0; // the frame that is asked for

  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.heading = element("h3", "side");
    this.legend = element("div", "legend");
    this.cards = element("div", "cards");
    view.root.append(this.heading, this.cards, this.legend);
  }

  /** @param {HeadStepsProps} props @param {Record<string, Floats>} arrays */
  update(props, arrays) {
    this.props = props;
    this.arrays = arrays;
    this.heading.textContent = props.title;
    this.heading.hidden = !props.title;
  }

  /** @param {number[]} followed */
  setValue([key, component]) {
    Object.assign(this, { key, component });
    this.view.drawAnew();
  }

  /** @param {Theme} theme */
  draw(theme) {
    this.theme = theme;
    const scale = new ColourScale({ signed: true, root: "sqrt", limit: 1 });
    this.legend.replaceChildren(scale.bar(theme, "each matrix on its own scale", true));
    this.drawCards(0);
  }

  // One after the other, each in the place of the one before it, as many as a frame has time for: the first are in sight.
  /** @param {number} index */
  drawCards(index) {
    cancelAnimationFrame(this.drawing);
    const { steps } = this.props;
    const end = performance.now() + FRAME;
    for (; index < steps.length && performance.now() < end; index++) {
      const card = this.card(steps[index], index);
      if (index < this.cards.children.length) this.cards.children[index].replaceWith(card);
      else this.cards.append(card);
    }
    if (index < steps.length) this.drawing = requestAnimationFrame(() => this.drawCards(index));
    else while (this.cards.children.length > index) this.cards.lastChild?.remove();
  }

  /** @param {HeadStep} step @param {number} index */
  card(step, index) {
    const card = element("section", "card");
    const words = element("div", "words");
    const heading = element("h4", "", `${index + 1}  ${step.title}`);
    const explanation = new Explanation(this.view.tooltip);
    explanation.tell(step.title, step.help);
    heading.append(explanation.mark);
    words.append(heading);
    if (step.formula) words.append(formula(step.formula));
    if (step.note) words.append(element("p", "", step.note));
    const numbers = element("div", "numbers");
    numbers.append(...step.equations.map((terms) => this.equation(terms)));
    const lines = this.props.spelled?.[this.key]?.[index] ?? step.spelled;
    if (lines.length) {
      const spelled = element("div", "spelled");
      spelled.append(...lines.map((line) => element("p", "", line)));
      numbers.append(spelled);
    }
    card.append(words, numbers);
    card.ariaLabel = step.title;
    return card;
  }

  /** @param {(string | StepTerm)[]} terms */
  equation(terms) {
    const line = element("div", "equation");
    line.append(...terms.map((term) => (typeof term === "string" ? element("span", "sign", term) : this.matrix(term))));
    return line;
  }

  /** @param {StepTerm} term */
  matrix(term) {
    const { values, shape } = this.arrays[term.array];
    const nTokens = term.rows === "token" || term.rows === "key" ? shape[0] : 1;
    const matrix = { ...term, values, size: shape, scale: scaleOf(values, nTokens) };
    const figure = element("figure");
    const caption = element("figcaption");
    const single = values.length === 1;
    caption.append(formula(matrix.name), ...(single ? [] : [element("span", "shape", matrix.shape)]));
    figure.append(caption, matrix.cells ? this.table(matrix) : this.picture(matrix));
    return figure;
  }

  // The index of the row or column that is marked, -1 for none.
  /** @param {StepAxis} axis @param {number} size */
  marked(axis, size) {
    if (axis === "key") return this.props.places.indexOf(this.key);
    if (axis === "token") return this.props.places.indexOf(this.props.query);
    if (axis === "d_model") return this.props.entry ?? -1;
    return axis in CHOSEN_BY ? Math.min(this.component, size - 1) : -1;
  }

  /** @param {StepMatrix} matrix */
  table({ values, size: [rows, columns], rows: down, columns: across, scale, name }) {
    const table = element("table");
    table.ariaLabel = name;
    if (across === "key") {
      const head = element("tr");
      head.append(...upTo(columns).map((slot) => this.keyName(slot)));
      table.append(head);
    }
    const [row, column] = [this.marked(down, rows), this.marked(across, columns)];
    for (let at = 0; at < rows; at++) {
      const line = element("tr");
      if (down === "key") line.append(this.keyName(at));
      for (let slot = 0; slot < columns; slot++) {
        const cell = this.cell(values[at * columns + slot], values.length > 1 ? scale : null);
        if (at === row || slot === column) cell.classList.add("followed");
        line.append(cell);
      }
      table.append(line);
    }
    const scroller = element("div", "scroller");
    scroller.append(table);
    return scroller;
  }

  /** @param {number} slot */
  keyName(slot) {
    const [place, label] = [this.props.places[slot], this.props.labels[slot]];
    const cell = element("th");
    const button = buttonOf(shortLabel(label, place), () => this.follow({ key: place }));
    button.ariaLabel = `follow key ${place}, ${label}`;
    button.ariaPressed = String(place === this.key);
    cell.append(button);
    return cell;
  }

  // One number, on its colour if there is a scale.
  /** @param {number} value @param {ColourScale | null} scale */
  cell(value, scale) {
    const cell = element("td", Number.isFinite(value) ? "" : "masked", numberOf(value));
    if (scale && Number.isFinite(value)) tint(cell, scale.colour(this.theme, value));
    return cell;
  }

  /** @param {StepMatrix} matrix */
  picture(matrix) {
    const [rows, columns] = matrix.size;
    const [width, height] = [extent(matrix.columns, columns, 0), extent(matrix.rows, rows, 1)];
    const canvas = element("canvas");
    canvas.role = "img";
    canvas.ariaLabel = `${matrix.name}, ${matrix.shape} numbers`;
    const context = sizedContext(canvas, width, height);
    const codes = Uint16Array.from(matrix.values, (value) => matrix.scale.level(value));
    const painted = { codes, rows, columns, colours: matrix.scale.palette(this.theme), hatch: hatching(this.theme) };
    paintMatrixIn(context, painted, { left: 0, top: 0, width, height });
    this.frame(context, matrix, width, height);
    /** @type {(event: MouseEvent) => [row: number, column: number]} */
    const under = (event) => {
      const box = canvas.getBoundingClientRect();
      /** @type {(from: number, length: number, count: number) => number} */
      const at = (from, length, count) => clamp(Math.floor((from * count) / length), 0, count - 1);
      return [at(event.clientY - box.top, height, rows), at(event.clientX - box.left, width, columns)];
    };
    canvas.onpointermove = (event) => this.tell(event, matrix, ...under(event));
    canvas.onpointerleave = () => this.view.tooltip.hide();
    canvas.onclick = (event) => this.choose(matrix, ...under(event));
    return canvas;
  }

  // The marked row and column in the pin's colour.
  /** @param {CanvasRenderingContext2D} context @param {StepMatrix} matrix @param {number} width @param {number} height */
  frame(context, { size: [rows, columns], rows: down, columns: across }, width, height) {
    context.strokeStyle = cssColour(this.theme.pin);
    context.lineWidth = 1.5;
    const [row, column] = [this.marked(down, rows), this.marked(across, columns)];
    /** @type {(at: number, count: number, length: number) => [start: number, extent: number]} */
    const span = (at, count, length) => [Math.min((at * length) / count, length - 3), Math.max(3, length / count)];
    if (row >= 0) {
      const [top, tall] = span(row, rows, height);
      context.strokeRect(0.75, top + 0.75, width - 1.5, tall - 1.5);
    }
    if (column >= 0) {
      const [left, wide] = span(column, columns, width);
      context.strokeRect(left + 0.75, 0.75, wide - 1.5, height - 1.5);
    }
  }

  /** @param {MouseEvent} event @param {StepMatrix} matrix @param {number} row @param {number} column */
  tell(event, matrix, row, column) {
    const axes = [...this.describe(matrix.rows, row), ...this.describe(matrix.columns, column)];
    const value = matrix.values[row * matrix.size[1] + column];
    this.view.tooltip.show(event.clientX, event.clientY, matrix.name, [...axes, ["value", numberOf(value)]]);
  }

  /** @type {(axis: StepAxis, index: number) => TooltipRow[]} */
  describe(axis, index) {
    const name = NAMES[axis];
    if (axis === "token" || axis === "key") return [[`${name} ${this.props.places[index]}`, this.props.labels[index]]];
    return name ? [[name, String(index)]] : [];
  }

  /** @param {StepMatrix} matrix @param {number} row @param {number} column */
  choose({ rows, columns }, row, column) {
    const chosen = { ...this.chosenBy(rows, row), ...this.chosenBy(columns, column) };
    if (Object.keys(chosen).length) this.follow(chosen);
  }

  /** @type {(axis: StepAxis, index: number) => Partial<StepChoice>} */
  chosenBy(axis, index) {
    const name = CHOSEN_BY[axis];
    return name ? { [name]: name === "key" ? this.props.places[index] : index } : {};
  }

  /** @param {Partial<StepChoice>} chosen */
  follow(chosen) {
    const { spelled } = this.props;
    if (spelled) chosen.component = this.component; // a file has the lines of this one alone
    const { key, component } = { key: this.key, component: this.component, ...chosen };
    if (spelled && !(key in spelled)) return;
    this.setValue([key, component]);
    this.view.announce(`Following key ${key}, component ${component}`);
    this.view.report([key, component]);
  }
}
