// A list of names and numbers as a grid. A strip under a number has a line for each of the others, and a mark for its own.
/** @typedef {{ name: string, value: string, half: string, others: number[], at: number | null }} NamedNumber */
/** @typedef {{ numbers: NamedNumber[], others: string }} NumberGridProps of number_grid/__init__.py */

/** @implements {Component} */
class NumberGrid {
  /** @param {View} view */
  constructor(view) {
    this.list = element("dl");
    view.root.append(this.list);
  }

  /** @param {NumberGridProps} props */
  update({ numbers, others }) {
    this.list.replaceChildren(
      ...numbers.map((number) => {
        const entry = element("div", "entry");
        const value = element("dd", "", number.value);
        if (number.half) value.append(element("span", "half", number.half));
        entry.append(element("dt", "", number.name), value);
        if (number.at !== null) value.append(this.strip(number, others));
        return entry;
      }),
    );
  }

  /** @param {NamedNumber} number @param {string} described */
  strip({ others, at }, described) {
    const strip = element("span", "strip");
    strip.title = described;
    strip.append(...[...others, at].map((share, place) => this.tick(share ?? 0, place === others.length)));
    return strip;
  }

  /** @param {number} share @param {boolean} isOwn */
  tick(share, isOwn) {
    const tick = element("span", isOwn ? "own" : "");
    tick.style.left = `${100 * share}%`;
    return tick;
  }
}
