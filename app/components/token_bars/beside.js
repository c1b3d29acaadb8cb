// What run B writes by itself, under what A wrote; and how far the two are apart at each step.
class BesideLine {
  differs = false;
  /** @type {HTMLElement[]} */
  chips = [];
  /** @type {Float32Array} */
  logProbs;

  /** @param {TokenBars} owner */
  constructor(owner) {
    this.owner = owner;
    this.box = element("div", "beside");
    this.tail = element("div", "tail");
    this.line = element("div", "chips");
    this.line.setAttribute("role", "list");
    this.box.append(this.tail, this.line);
    owner.view.tooltip.follow(this.line, () => this.chips, (step) => this.told(step));
    this.line.onclick = (event) => owner.go(placeOf(this.chips, event));
  }

  /** @param {BesideProps | null} props @param {Record<string, Floats>} arrays */
  update(props, arrays) {
    this.box.hidden = !props;
    this.chips = [];
    this.differs = false;
    if (!props) return;
    this.logProbs = arrays["b.own"].values;
    this.tail.replaceChildren(...tailOf("prompt B", props));
    this.chips = props.own.map((label, step) => this.chip(label, this.owner.steps[step]?.label));
    this.line.replaceChildren(...this.chips);
    this.line.ariaLabel = `${this.chips.length} tokens written by B`;
  }

  /** @param {string} label @param {string | undefined} ofA */
  chip(label, ofA) {
    const differs = label !== ofA;
    this.differs ||= differs;
    const chip = element("span", differs ? "chip differs" : "chip", label);
    chip.setAttribute("role", "listitem");
    if (differs) chip.ariaLabel = `${label}, not as A`;
    return chip;
  }

  /** @param {Theme} theme @param {ColourScale} scale */
  draw(theme, scale) {
    this.chips.forEach((chip, step) => tint(chip, scale.colour(theme, Math.exp(this.logProbs[step]))));
  }

  /** @param {number} step */
  mark(step) {
    this.chips.forEach((chip, place) => chip.classList.toggle("chosen", place === step));
  }

  /** @type {(step: number) => TooltipText} */
  told(step) {
    const probability = significant(Math.exp(this.logProbs[step]));
    /** @type {TooltipRow[]} */
    const rows = [["step", `${step + 1} of ${this.chips.length}`], ["probability, after B's own text", probability]];
    return [this.chips[step].textContent ?? "", rows];
  }
}

// A bar a step for how far the two distributions are from each other, at most log 2 nats; by the square root, which
// shows small ones too.
const MAX_APART = Math.LN2;

class ApartStrip {
  /** @type {Float32Array} */
  values; // of each step two: of the models' own distributions and of those drawn from
  /** @type {HTMLElement[]} */
  columns = [];

  /** @param {TokenBars} owner */
  constructor(owner) {
    this.owner = owner;
    this.box = element("div", "apart");
    this.line = element("div", "columns");
    this.line.setAttribute("role", "img");
    this.box.append(element("span", "name", "A and B apart at each step: Jensen–Shannon, 0 to 0.693 nats (height: its root)"), this.line);
    owner.view.tooltip.follow(this.line, () => this.columns, (step) => this.told(step));
    this.line.onclick = (event) => owner.go(placeOf(this.columns, event));
  }

  /** @param {Float32Array | null} values */
  update(values) {
    this.box.hidden = !values;
    this.values = values ?? new Float32Array();
    this.columns = upTo(this.values.length / 2).map((step) => this.column(this.values[2 * step]));
    this.line.replaceChildren(...this.columns);
    const said = this.columns.map((_, step) => this.values[2 * step].toFixed(2)).join(", ");
    this.line.ariaLabel = `Jensen–Shannon divergence of A and B in nats at each step: ${said}`;
  }

  /** @param {number} value */
  column(value) {
    const column = element("span", "column");
    const bar = element("span", "level");
    bar.style.height = `${100 * Math.sqrt(value / MAX_APART)}%`;
    column.append(bar);
    return column;
  }

  /** @param {Theme} theme */
  draw(theme) {
    this.box.style.setProperty("--level", cssColour(colourAt(theme.map, 0.65)));
  }

  /** @param {number} step */
  mark(step) {
    this.columns.forEach((column, place) => column.classList.toggle("chosen", place === step));
  }

  /** @type {(step: number) => TooltipText} */
  told(step) {
    const [own, drawn] = this.values.slice(2 * step, 2 * step + 2);
    /** @type {TooltipRow[]} */
    const rows = [
      ["of the models' own distributions", `${significant(own)} nats`],
      ["of those drawn from", `${significant(drawn)} nats`],
    ];
    return [`step ${step + 1}: ${this.owner.steps[step].label}`, rows];
  }
}
