// The tokens that a step chose from: of each the model's own probability above the one that it was drawn with. With a run
// B the same tokens of A, of B, and B - A.
const BARS_HELP = "Up and down arrow keys go from token to token.";
const PUT_HELP = "Enter inserts it here and generates on from there.";
const DRAWN_MARK = "◆";
const DRAWN_BY_B_MARK = "◇";
/** @type {("before" | "after")[]} */
const WHENS = ["before", "after"];

// With two decimals, as all of a column have, or with so many digits where there is no room for these.
/** @param {number} share @param {number} [digits] */
function percent(share, digits) {
  if (share < 0.0001) return "<0.01%";
  return digits ? `${Number((100 * share).toPrecision(digits))}%` : `${(100 * share).toFixed(2)}%`;
}
/** @type {(value: number) => string} */
const nats = (value) => `${withMinus(value.toFixed(2))} nats`;
/** @type {(share: number, digits?: number) => string} */
const cutOr = (share, digits) => (share === 0 ? "cut" : percent(share, digits));

// A number before and after the cuts, once where these leave it as it is.
/** @param {string[]} texts */
const shareOf = (texts) => element("span", "share", [...new Set(texts)].join(" → "));

// A difference of probabilities in percentage points.
/** @param {number} difference */
function points(difference) {
  const size = Math.abs(100 * difference);
  if (size === 0) return "0";
  return `${difference > 0 ? "+" : "−"}${size >= 0.01 ? Number(size.toPrecision(2)) : "<0.01"}`;
}

class StepBars {
  /** @type {number | null} */
  cursor = null;
  /** @type {Step} */
  step;
  /** @type {HTMLElement[]} */
  rows = [];
  longest = 1; // of the shares
  farthest = 0; // of the differences

  /** @param {TokenBars} owner */
  constructor(owner) {
    this.owner = owner;
    this.box = element("div", "step");
    this.title = element("strong");
    this.facts = element("span", "facts");
    this.before = buttonOf("‹", () => owner.go(owner.step - 1));
    this.before.ariaLabel = "the step before";
    this.next = buttonOf("›", () => owner.go(owner.step + 1));
    this.next.ariaLabel = "the next step";
    const header = element("div", "header");
    header.append(this.before, this.title, this.next, this.facts);
    this.legend = element("div", "legend");
    this.names = element("div", "names");
    this.names.ariaHidden = "true";
    this.names.append(element("span"), element("span"), ...SIDES.map((side) => element("span", "", side)));
    this.list = widget("rows", "listbox");
    this.box.append(header, this.legend, this.names, this.list);
    this.list.onclick = (event) => this.put(placeOf(this.rows, event));
    owner.view.tooltip.follow(this.list, () => this.rows, (index) => this.tooltipText(index));
    this.listen();
  }

  listen() {
    const put = () => this.cursor !== null && this.put(this.cursor);
    onKeys(this.list, {
      ArrowUp: () => this.move((this.cursor ?? 1) - 1),
      ArrowDown: () => this.move((this.cursor ?? -1) + 1),
      Home: () => this.move(0),
      End: () => this.move(this.rows.length - 1),
      ArrowLeft: () => this.owner.walk(this.owner.step - 1),
      ArrowRight: () => this.owner.walk(this.owner.step + 1),
      Enter: put,
      " ": put,
    });
  }

  /** @param {Step} step @param {number} place @param {number} count */
  show(step, place, count) {
    this.step = step;
    this.cursor = null;
    this.before.disabled = place === 0;
    this.next.disabled = place === count - 1;
    this.title.textContent = `Step ${place + 1} of ${count}`;
    this.facts.textContent = this.sentence();
    this.names.hidden = !step.b;
    this.drawLegend();
    const all = [...step.choices, ...(step.b?.choices ?? [])];
    this.longest = Math.max(...all.flatMap(({ before, after }) => [before, after]));
    this.farthest = Math.max(...step.choices.flatMap((_, index) => this.differences(index).map(Math.abs)));
    this.rows = step.choices.map((choice, index) => this.row(choice, index));
    this.list.replaceChildren(...this.rows);
    this.list.classList.toggle("fixed", this.owner.inFile);
    this.list.removeAttribute("aria-activedescendant");
    this.list.ariaLabel = `The likeliest tokens of step ${place + 1}. ${BARS_HELP} ${this.owner.inFile ? "" : PUT_HELP}`;
  }

  drawLegend() {
    const { step } = this;
    const byB = this.isOtherOfB() ? [`${DRAWN_BY_B_MARK} sampled by B`] : [];
    const marks = [`${DRAWN_MARK} sampled${step.b ? " by A" : ""}`, ...byB];
    this.legend.replaceChildren(
      legendSwatch("the model's own probability", "before"),
      legendSwatch("sampling distribution", "after"),
      ...(step.b ? [legendSwatch("more in B", "more"), legendSwatch("less in B", "less")] : []),
      ...marks.map((mark) => legendEntry(element("span", "title", mark))),
    );
  }

  isOtherOfB() {
    return this.step.b !== undefined && this.step.b.token !== this.step.token;
  }

  // What there is to say of the step in a line.
  sentence() {
    const { isInserted, b } = this.step;
    const written = `${isInserted ? "Inserted" : "Sampled"} ${quotedLabel(this.step.label, 1)}`;
    if (!b) return `${written} · ${this.numbers(this.step)}`;
    const byB = this.isOtherOfB() ? `B sampled ${quotedLabel(b.label, 1)}` : "B";
    return `${written}${isInserted ? "" : " by A"} · ${this.numbers(this.step)} · ${byB}: ${this.numbers(b)}`;
  }

  /** @param {Step} step */
  numbers({ logProb, entropies }) {
    const [own, drawn] = entropies.map(nats);
    return `log-probability ${nats(logProb)} · entropy ${own} (${drawn} after temperature and cuts)`;
  }

  // B - A of one token before and after the cuts.
  /** @param {number} index */
  differences(index) {
    const { choices, b } = this.step;
    return b ? WHENS.map((when) => b.choices[index][when] - choices[index][when]) : [];
  }

  /** @param {StepChoice} choice @param {number} index */
  row(choice, index) {
    const { step } = this;
    const other = step.b?.choices[index];
    const isWritten = choice.token === step.token;
    const isWrittenByB = this.isOtherOfB() && choice.token === step.b?.token;
    const isCut = choice.after === 0 && (!other || other.after === 0);
    const names = ["row", isWritten || isWrittenByB ? "written" : "", isCut ? "cut" : "", other ? "two" : ""];
    const row = optionOf(names.filter(Boolean).join(" "), `choice-${index}`);
    row.ariaSelected = String(isWritten);
    const mark = isWritten ? DRAWN_MARK : isWrittenByB ? DRAWN_BY_B_MARK : "";
    row.append(element("span", "mark", mark), element("span", "token", shortLabel(choice.label, 1)), ...this.cells(choice, other, index));
    row.ariaLabel = `${this.spoken(choice, other, index)}${isWritten ? ", written" : ""}`;
    return row;
  }

  /** @param {StepChoice} choice @param {StepChoice | undefined} other @param {number} index */
  spoken(choice, other, index) {
    const probabilities = (/** @type {StepChoice} */ { before, after }) => `${percent(before, 3)}, after the cuts ${cutOr(after, 3)}`;
    if (!other) return `${choice.label}, ${probabilities(choice)}`;
    const [own, drawn] = this.differences(index).map(points);
    return `${choice.label}, A ${probabilities(choice)}, B ${probabilities(other)}, B minus A ${own} points, after the cuts ${drawn}`;
  }

  /** @param {StepChoice} choice @param {StepChoice | undefined} other @param {number} index */
  cells(choice, other, index) {
    if (!other) return [this.track(choice), this.share(choice)];
    /** @type {(name: string, ...parts: HTMLElement[]) => HTMLElement} */
    const cell = (name, ...parts) => {
      const made = element("span", `cell ${name}`);
      made.append(...parts);
      return made;
    };
    const differences = this.differences(index);
    return [
      cell("a", this.track(choice), this.share(choice)),
      cell("b", this.track(other), this.share(other)),
      cell("difference", this.signedTrack(differences), shareOf(differences.map(points))),
    ];
  }

  /** @param {StepChoice} choice */
  track(choice) {
    const track = element("span", "track");
    for (const when of WHENS) {
      const bar = element("span", choice[when] === 0 ? `${when} none` : when);
      bar.style.width = `${(100 * choice[when]) / this.longest}%`;
      track.append(bar);
    }
    return track;
  }

  // Bars from the middle: to the right what B has more, to the left what it has less.
  /** @param {number[]} differences */
  signedTrack(differences) {
    const track = element("span", "track signed");
    differences.forEach((difference, place) => {
      const bar = element("span", `${WHENS[place]} ${difference < 0 ? "less" : "more"}${difference === 0 ? " none" : ""}`);
      const width = (50 * Math.abs(difference)) / (this.farthest || 1);
      bar.style.width = `${width}%`;
      bar.style.marginLeft = `${difference < 0 ? 50 - width : 50}%`;
      track.append(bar);
    });
    return track;
  }

  /** @param {StepChoice} choice */
  share({ before, after }) {
    const digits = this.step.b ? 2 : undefined; // as many as fit under a bar
    return shareOf([percent(before, digits), cutOr(after, digits)]);
  }

  /** @param {number} index */
  put(index) {
    if (index >= 0) this.owner.put(this.step.choices[index].token);
  }

  /** @param {number} to */
  move(to) {
    const index = clamp(to, 0, this.rows.length - 1);
    this.cursor = index;
    const row = this.rows[index];
    this.rows.forEach((each, place) => each.classList.toggle("cursor", place === index));
    this.list.setAttribute("aria-activedescendant", row.id);
    row.scrollIntoView({ block: "nearest" });
    this.owner.view.tooltip.showBeside(row, ...this.tooltipText(index));
    this.owner.view.announce(row.ariaLabel ?? "");
  }

  /** @type {(index: number) => TooltipText} */
  tooltipText(index) {
    const { step, owner } = this;
    const choice = step.choices[index];
    const rows = step.b ? this.factsOfTwo(choice, step.b.choices[index], index) : this.factsOf(choice);
    if (!owner.inFile) rows.push(["", choice.token === step.token ? "Click: keep all up to here" : "Click: insert it here"]);
    return [choice.label, rows];
  }

  /** @type {(choice: StepChoice) => TooltipRow[]} */
  factsOf({ before, after, rank }) {
    return [
      ["the model's own", significant(before)],
      ["sampled with", after === 0 ? "cut" : significant(after)],
      ["log-probability", `${significant(Math.log(before))} nats`],
      ["rank", String(rank)],
    ];
  }

  /** @type {(a: StepChoice, b: StepChoice, index: number) => TooltipRow[]} */
  factsOfTwo(a, b, index) {
    const [own, drawn] = this.differences(index).map(withSign);
    /** @type {(name: string, choice: StepChoice) => TooltipRow[]} */
    const of = (name, { before, after, rank }) => [
      [`${name}: the model's own`, `${significant(before)}, rank ${rank}`],
      [`${name}: sampled with`, after === 0 ? "cut" : significant(after)],
    ];
    return [...of("A", a), ...of("B", b), ["B − A: own, sampled with", `${own}, ${drawn}`]];
  }
}
