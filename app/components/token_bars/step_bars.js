// The tokens that a step chose from: of each the model's own probability above the one that it was drawn with.
const BARS_HELP = "Up and down arrow keys go from token to token.";
const PUT_HELP = "Enter writes it here in place of the present one and goes on from there.";
const DRAWN_MARK = "◆";

const percent = (share) => (share >= 0.0001 ? `${Number((100 * share).toPrecision(3))}%` : "<0.01%");
const nats = (value) => `${value.toFixed(2).replace("-", "−")} nats`;

class StepBars {
  cursor = null;

  constructor(owner) {
    this.owner = owner;
    this.box = element("div", "step");
    this.title = element("strong");
    this.facts = element("span", "facts");
    const header = element("div", "header");
    header.append(this.button("‹", "the step before", -1), this.title, this.button("›", "the next step", 1), this.facts);
    this.legend = element("div", "legend");
    this.legend.append(
      legendSwatch("the model's own probability", "before"),
      legendSwatch("drawn from, after temperature and cuts", "after"),
      legendEntry(element("span", "title", `${DRAWN_MARK} written`)),
    );
    this.list = element("div", "rows");
    this.list.tabIndex = 0;
    this.list.setAttribute("role", "listbox");
    this.box.append(header, this.legend, this.list);
    this.list.onkeydown = (event) => this.press(event);
    this.list.onclick = (event) => this.put(this.indexOf(event));
    this.list.onpointerover = (event) => this.hover(event);
    this.list.onpointermove = (event) => owner.view.tooltip.move(event.clientX, event.clientY);
    this.list.onpointerleave = () => owner.view.tooltip.hide();
    this.list.onblur = () => owner.view.tooltip.hide();
  }

  button(text, name, by) {
    const button = element("button", "", text);
    button.ariaLabel = name;
    button.onclick = () => this.owner.go(this.owner.step + by);
    return button;
  }

  show(step, place, count) {
    Object.assign(this, { step, cursor: null });
    const [first, last] = this.box.querySelectorAll("button");
    first.disabled = place === 0;
    last.disabled = place === count - 1;
    this.title.textContent = `Step ${place + 1} of ${count}`;
    this.facts.textContent = this.sentence();
    const longest = Math.max(...step.choices.flatMap(({ before, after }) => [before, after]));
    this.rows = step.choices.map((choice, index) => this.row(choice, index, longest));
    this.list.replaceChildren(...this.rows);
    this.list.classList.toggle("fixed", this.owner.inFile);
    this.list.removeAttribute("aria-activedescendant");
    this.list.ariaLabel = `The likeliest tokens of step ${place + 1}. ${BARS_HELP} ${this.owner.inFile ? "" : PUT_HELP}`;
  }

  // What there is to say of the step in a line.
  sentence() {
    const { label, given, logProb, entropies } = this.step;
    const [own, drawn] = entropies.map(nats);
    const written = given ? `“${label}” was put there by you` : `“${label}” was written`;
    return `${written} · log-probability ${nats(logProb)} · entropy ${own}, of what is drawn from ${drawn}`;
  }

  row(choice, index, longest) {
    const isWritten = choice.token === this.step.token;
    const isCut = choice.after === 0;
    const row = element("div", `row${isWritten ? " written" : ""}${isCut ? " cut" : ""}`);
    row.id = `choice-${index}`;
    row.setAttribute("role", "option");
    row.ariaSelected = String(isWritten);
    const after = isCut ? "cut" : percent(choice.after);
    row.ariaLabel = `${choice.label}, ${percent(choice.before)}, after the cuts ${after}${isWritten ? ", written" : ""}`;
    const track = element("span", "track");
    for (const name of ["before", "after"]) {
      const bar = element("span", name);
      bar.style.width = `${(100 * choice[name]) / longest}%`;
      track.append(bar);
    }
    row.append(
      element("span", "mark", isWritten ? DRAWN_MARK : ""),
      element("span", "token", choice.label),
      track,
      element("span", "share", `${percent(choice.before)} → ${after}`),
    );
    return row;
  }

  indexOf(event) {
    return this.rows.indexOf(event.target.closest(".row"));
  }

  put(index) {
    if (index >= 0) this.owner.put(this.step.choices[index].token);
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const last = this.rows.length - 1;
    const { cursor } = this;
    const next = {
      ArrowUp: Math.max(0, (cursor ?? 1) - 1),
      ArrowDown: Math.min(last, (cursor ?? -1) + 1),
      Home: 0,
      End: last,
    }[event.key];
    if (next !== undefined) this.move(next);
    else if ((event.key === "Enter" || event.key === " ") && cursor !== null) this.put(cursor);
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight") return this.owner.press(event);
    else return;
    event.preventDefault();
  }

  move(index) {
    this.cursor = index;
    const row = this.rows[index];
    this.rows.forEach((each, place) => each.classList.toggle("cursor", place === index));
    this.list.setAttribute("aria-activedescendant", row.id);
    row.scrollIntoView({ block: "nearest" });
    const { right, bottom } = row.getBoundingClientRect();
    this.tell(index, right, bottom);
    this.owner.view.announce(row.ariaLabel);
  }

  hover(event) {
    const index = this.indexOf(event);
    if (index < 0) return this.owner.view.tooltip.hide();
    this.tell(index, event.clientX, event.clientY);
  }

  tell(index, x, y) {
    const { label, before, after, rank, token } = this.step.choices[index];
    const rows = [
      ["the model's own", significant(before)],
      ["drawn with", after === 0 ? "cut" : significant(after)],
      ["log-probability", `${significant(Math.log(before)).replace("-", "−")} nats`],
      ["rank", String(rank)],
    ];
    if (!this.owner.inFile) rows.push(["", token === this.step.token ? "Click: keep all up to here" : "Click: write this here"]);
    this.owner.view.tooltip.show(x, y, label, rows);
  }
}
