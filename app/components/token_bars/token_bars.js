// A text that grows by a token a step: its tokens as chips, and the bars of the step that is looked at; with a run B its
// text too, and how far the two are apart.
const STEP_HELP = "Left and right arrow keys go from step to step, Home and End to the first and the last.";

/**
 * A token that could be written, or was; probabilities are those before and after the cuts.
 * @typedef {{ token: number, label: string, rank: number, before: number, after: number }} StepChoice
 */
/**
 * @typedef {object} Step
 * @property {string} label
 * @property {number} token
 * @property {boolean} isInserted whether the user put it there
 * @property {number} logProb (nats), as are the next two
 * @property {number[]} entropies before and after the cuts
 * @property {StepChoice[]} choices
 * @property {Step} [b] what B makes of the same choices
 */
/** @typedef {{ prompt: string[], nPrompt: number }} Prompt its end, and how many tokens it has */
/** @typedef {Prompt & { own: string[], labels: string[] }} BesideProps */
/** @typedef {{ labels: string[], inserted: boolean[], choices: string[][] }} StepsProps */
/**
 * @typedef {Prompt & StepsProps & { queries: number[], beside: BesideProps | null, inFile: boolean }} TokenBarsProps
 * of token_bars/__init__.py
 */

/** @implements {Component} */
class TokenBars {
  step = 0;
  /** @type {Step[]} */
  steps = [];
  /** @type {HTMLElement[]} */
  chips = [];
  /** @type {number[]} */
  queries = [];
  inFile = false;

  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.legend = element("div", "legend");
    this.tail = element("div", "tail");
    this.line = widget("chips", "listbox");
    this.line.ariaOrientation = "horizontal";
    this.lineOfB = new BesideLine(this);
    this.strip = new ApartStrip(this);
    this.bars = new StepBars(this);
    view.root.append(this.tail, this.line, this.lineOfB.box, this.strip.box, this.legend, this.bars.box);
    this.hover = view.tooltip.follow(this.line, () => this.chips, (step) => this.tooltipText(step));
    this.line.onclick = (event) => this.click(event);
    onKeys(this.line, {
      ArrowLeft: () => this.walk(this.step - 1),
      ArrowRight: () => this.walk(this.step + 1),
      Home: () => this.walk(0),
      End: () => this.walk(this.steps.length - 1),
    });
  }

  /** @param {TokenBarsProps} props @param {Record<string, Floats>} arrays */
  update(props, arrays) {
    this.queries = props.queries;
    this.inFile = props.inFile;
    const b = props.beside;
    this.steps = stepsOf(props, arrays, "");
    if (b) stepsOf({ ...props, labels: b.labels }, arrays, "b.").forEach((step, at) => (this.steps[at].b = step));
    this.tail.replaceChildren(...tailOf(b ? "prompt A" : "prompt", props));
    this.chips = this.steps.map((_, step) => this.chip(step));
    this.line.replaceChildren(...this.chips);
    this.line.ariaLabel = `${this.steps.length} tokens generated${b ? " by A" : ""}. ${STEP_HELP}`;
    this.lineOfB.update(b, arrays);
    this.strip.update(b && arrays["b.apart"].values);
  }

  /** @param {number} step */
  chip(step) {
    const { label, isInserted } = this.steps[step];
    const chip = optionOf(isInserted ? "chip inserted" : "chip", `step-${step}`, shortLabel(label, 1));
    chip.ariaLabel = `step ${step + 1}: ${label}${isInserted ? ", inserted by you" : ""}`;
    return chip;
  }

  /** @param {number[]} value */
  setValue([step]) {
    this.show(Math.min(step, this.steps.length - 1));
  }

  /** @param {Theme} theme */
  draw(theme) {
    const scale = new ColourScale({ root: "sqrt", limit: 1 });
    this.chips.forEach((chip, step) => tint(chip, scale.colour(theme, Math.exp(this.steps[step].logProb))));
    this.lineOfB.draw(theme, scale);
    this.strip.draw(theme);
    const entries = [scale.bar(theme, "probability of the generated token")];
    if (this.steps.some(({ isInserted }) => isInserted)) entries.push(legendSwatch("inserted by you", "inserted"));
    if (this.lineOfB.differs) entries.push(legendSwatch("another token than A's", "differs"));
    this.legend.replaceChildren(...entries);
  }

  /** @param {number} step */
  show(step) {
    this.step = step;
    this.chips.forEach((chip, place) => {
      chip.classList.toggle("chosen", place === step);
      chip.ariaSelected = String(place === step);
    });
    this.line.setAttribute("aria-activedescendant", this.chips[step].id);
    this.lineOfB.mark(step);
    this.strip.mark(step);
    this.bars.show(this.steps[step], step, this.steps.length);
  }

  // Looks at another step. The query that wrote it is pinned at once; Python hears of it, and of no pin, later.
  /** @param {number} step */
  go(step, delay = 0) {
    if (step < 0 || step >= this.steps.length || step === this.step) return;
    this.show(step);
    this.view.link.send("pin", { queries: [this.queries[step]], keys: [], quiet: true });
    this.view.report([step, null], delay);
    this.view.announce(`step ${step + 1}: ${this.bars.sentence()}`);
  }

  // Asks for a token in place of the one that was written.
  /** @param {number} token */
  put(token) {
    if (!this.inFile) this.view.report([this.step, token]);
  }

  /** @param {number} step */
  walk(step) {
    this.go(step, HELD_KEY_DELAY);
    this.chips[this.step].scrollIntoView({ block: "nearest" });
  }

  /** @param {MouseEvent} event */
  click(event) {
    this.go(placeOf(this.chips, event));
    this.hover(event);
  }

  /** @type {(step: number) => TooltipText} */
  tooltipText(step) {
    const { label, logProb, isInserted } = this.steps[step];
    /** @type {TooltipRow[]} */
    const rows = [
      ["step", `${step + 1} of ${this.steps.length}`],
      ["probability", significant(Math.exp(logProb))],
      ["log-probability", `${withSign(logProb).replace("+", "")} nats`],
    ];
    if (isInserted) rows.push(["", "inserted by you"]);
    return [label, rows];
  }
}

// The steps of a run; its arrays' names begin with the prefix.
/** @type {(props: StepsProps, arrays: Record<string, Floats>, prefix: string) => Step[]} */
function stepsOf({ labels, inserted, choices: named }, arrays, prefix) {
  const array = (/** @type {string} */ name) => arrays[`${prefix}${name}`];
  const [, across] = array("tokens").shape;
  /** @type {(name: string, step: number) => number[]} */
  const row = (name, step) => Array.from(array(name).values.slice(step * across, (step + 1) * across));
  return labels.map((label, step) => {
    const [logProb, own, drawn] = array("numbers").values.slice(3 * step, 3 * step + 3);
    const [ranks, before, after] = ["ranks", "before", "after"].map((name) => row(name, step));
    const choices = row("tokens", step).map((token, index) => ({
      token,
      label: named[step][index],
      rank: ranks[index],
      before: before[index],
      after: after[index],
    }));
    return { label, token: array("written").values[step], isInserted: inserted[step], logProb, entropies: [own, drawn], choices };
  });
}

// The end of a prompt under its name.
/** @param {string} name @param {Prompt} prompt */
function tailOf(name, { prompt, nPrompt }) {
  const cut = nPrompt > prompt.length ? ["…"] : [];
  const words = [...cut, ...prompt].map((label, place) => element("span", "word", shortLabel(label, place)));
  return [element("span", "name", name), ...words];
}
