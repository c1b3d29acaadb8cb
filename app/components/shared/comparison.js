// One head alone, or two with their difference, from the arrays of one panel.
/** @typedef {[layer: number, head: number, kind?: string]} HeadIndex the kind of attention where a model has several */
const PATTERN_ARRAYS = ["weights", "masked", "logsumexp", "norms"];
/** @typedef {{ heads: HeadIndex[], title: string | null, sinks?: number[][], isPart?: boolean }} PanelProps `panel_props` in heads/__init__.py */
/** @typedef {{ show: Show, sink: Sink, quantity?: string }} How */

// What the cells are, with its unit.
/** @type {(how: How) => string} */
const quantityOf = ({ show, quantity }) => (show === "weight" && quantity) || CONSTANTS.titles[show];

const SIDES = ["A", "B", "B − A"];

class Comparison {
  /** @param {PanelProps} panel @param {Packed[]} arrays @param {How} how */
  constructor({ heads, title, sinks = [], isPart = false }, arrays, { show, sink }) {
    const names = heads.map(headName);
    this.arrays = arrays;
    this.patterns = upTo(heads.length).map((side) => Pattern.from(arrays.slice(4 * side, 4 * side + 4), sinks[side], isPart));
    this.of = Comparison.nameOf({ heads, title, sinks }, { show, sink });
    this.places = [...heads, heads[0]];
    this.isOneHead = new Set(names).size === 1;
    this.name = title ?? [...new Set(names)].join(", ");
    this.sides = heads.length < 2 ? [""] : this.isOneHead ? SIDES : [...names, `${names[1]} − ${names[0]}`];
    this.measured = this.patterns.map((pattern) => new MeasuredHead(pattern, show, sink));
    this.differences = heads.length < 2 ? [] : [new HeadDifference(this.measured[0], this.measured[1], this.sides)];
  }

  // From a component's arrays; one of those before, with all that it has computed and drawn, if nothing in it has changed.
  /** @param {PanelProps} panel @param {Arrays} arrays @param {string} prefix @param {How} props @param {Comparison[]} before */
  static from(panel, arrays, prefix, props, before = []) {
    const sides = upTo(panel.heads.length).map((side) => "ab"[side]);
    const own = sides.flatMap((side) => PATTERN_ARRAYS.map((name) => arrays[`${prefix}${side}.${name}`]));
    const of = Comparison.nameOf(panel, props);
    /** @type {(other: Comparison) => boolean} */
    const isSame = (other) => other.of === of && other.arrays.every((array, index) => array === own[index]);
    return before.find(isSame) ?? new Comparison(panel, own, props);
  }

  /** @type {(panel: PanelProps, how: How) => string} */
  static nameOf({ heads, title, sinks = [] }, { show, sink }) {
    return [...heads.map(headName), title, show, sink, JSON.stringify(sinks)].join(" ");
  }

  /** @returns {Shown[]} */
  get heads() {
    return [...this.measured, ...this.differences];
  }

  get isMasked() {
    return this.patterns.some((pattern) => pattern.isMasked);
  }
}

// The bars of comparisons of one measure: of the runs, and of a difference of two.
/** @param {Comparison[]} comparisons @param {Map<Shown, ColourScale>} scales @param {string} quantity @returns {ScaleBar[]} */
function barsOf(comparisons, scales, quantity) {
  const scaleOf = (/** @type {Shown} */ head) => /** @type {ColourScale} */ (scales.get(head));
  const alone = comparisons.slice(0, 1).map(({ measured: [head] }) => ({ scale: scaleOf(head), quantity, title: quantity }));
  const compared = comparisons.find(({ differences }) => differences.length > 0);
  if (!compared) return alone;
  const title = `${compared.sides[2]}: ${quantity}`;
  return [...alone, { scale: scaleOf(compared.differences[0]), quantity: title, title }];
}

/** @typedef {"measured" | "differences"} Kind */
/** @type {Kind[]} */
const KINDS = ["measured", "differences"];

// Each head's colour scale: one for all comparisons or one for each, and another for their differences. `others` says by
// these kinds how far heads go that are not among them.
/** @param {Comparison[]} comparisons @param {Root} root @param {boolean} own @param {Partial<Record<Kind, number>>} others */
function colourScales(comparisons, root, own, others = {}) {
  /** @type {Map<Shown, ColourScale>} */
  const scales = new Map();
  for (const members of own ? comparisons.map((comparison) => [comparison]) : [comparisons]) {
    for (const kind of KINDS) {
      /** @type {Shown[]} */
      const heads = members.flatMap(({ [kind]: own }) => /** @type {Shown[]} */ (own));
      if (heads.length === 0) continue;
      const scale = ColourScale.for(heads, root, own, others[kind]);
      for (const head of heads) scales.set(head, scale);
    }
  }
  return scales;
}
