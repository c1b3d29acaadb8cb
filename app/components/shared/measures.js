/** @typedef {"weight" | "score" | "write" | "disagreement"} Show these three as in heads/__init__.py */
/** @typedef {"keep" | "hide" | "renormalise"} Sink what becomes of the first token */
/** @typedef {"sqrt" | "linear"} Root */
/** @typedef {"masked" | "absent" | "hidden" | "unknown"} Lack */
/** @typedef {MeasuredHead | HeadDifference} Shown */
/** @typedef {{ scale: ColourScale, levels: Uint16Array } | null} Seen */
/**
 * @typedef {object} Measure
 * @property {number} [most]
 * @property {boolean} [signed]
 * @property {Root} [root]
 * @property {"mean"} [combined]
 * @property {(values: Float64Array, head: MeasuredHead, query: number) => void} fill
 * @property {(head: MeasuredHead, query: number, key: number) => string} [text]
 */

// What is shown of a head: one measure of each cell, with the first token kept, hidden or left out; or the difference
// of two heads in that measure. Cells without a number say in words why.
//
// A measure makes its values out of a row's weights, in their place, NaN where a cell has none. A row at a time, because a
// call for each of a million cells would take most of the time.
/** @type {Record<Show, Measure>} */
const MEASURES = {
  weight: {
    most: 1,
    fill: () => {},
    text: (head, query, key) => head.pattern.weightText(query, key),
  },
  score: {
    signed: true,
    root: "linear", // a score is a logarithm already,
    combined: "mean", // and a sum of logarithms is none of anything
    fill(values, { pattern }, query) {
      const cells = pattern.row(query);
      const logsumexp = pattern.logsumexp[query];
      for (let key = 0; key < values.length; key++) {
        values[key] = cells[key] >= 0 ? Math.log(Math.max(cells[key], SMALLEST)) + logsumexp : NaN;
      }
    },
    text: (head, query, key) => head.pattern.scoreText(query, key),
  },
  write: {
    fill(values, { pattern }) {
      for (let key = 0; key < values.length; key++) values[key] *= pattern.norms[key];
    },
  },
  disagreement: {
    signed: true,
    fill(values, { pattern, written }, query) {
      for (let key = 0; key < values.length; key++) values[key] -= (values[key] * pattern.norms[key]) / written[query];
    },
  },
};

/** @type {(head: Shown) => string} */
const combinedName = ({ measure }) => measure.combined ?? "sum";
/** @type {(value: number) => string} */
const withSign = (value) => `${value > 0 ? "+" : ""}${significant(value)}`;

class MeasuredHead {
  /** @type {Float64Array | undefined} */
  rests;
  /** @type {Float64Array | undefined} */
  writtens;
  filled = -1; // the row that `values` has
  /** @type {Seen} */
  seen = null;
  /** @type {number | undefined} */
  largest;

  /** @param {Pattern} pattern @param {Show} show @param {Sink} sink */
  constructor(pattern, show, sink) {
    this.pattern = pattern;
    this.show = show;
    this.measure = MEASURES[show];
    this.hides = sink !== "keep";
    this.renormalises = sink === "renormalise";
    this.values = new Float64Array(pattern.columns);
  }

  // The sum of each row's weights without the sinks'.
  get rest() {
    const { pattern } = this;
    return (this.rests ??= pattern.sumRows(new Float32Array(this.columns).fill(1), pattern.resting));
  }

  // All that each row writes; without the sinks, if these are left out.
  get written() {
    const { pattern } = this;
    if (!this.renormalises) return (this.writtens ??= pattern.sumRows(pattern.norms));
    return (this.writtens ??= pattern.sumRows(pattern.norms, pattern.resting).map((sum, query) => sum / this.rest[query]));
  }

  get patterns() {
    return [this.pattern];
  }

  get rows() {
    return this.pattern.rows;
  }

  get columns() {
    return this.pattern.columns;
  }

  // What a row's weights are shares of: the row, or the row without its sinks if these are left out.
  /** @param {number} query */
  share(query) {
    return this.renormalises ? this.rest[query] : 1;
  }

  // The values of a query's cells, NaN where one has none; until another row is asked for.
  /** @param {number} query */
  row(query) {
    if (this.filled === query) return this.values;
    const { pattern, columns, hides, values } = this;
    const cells = pattern.row(query);
    const share = this.share(query);
    for (let key = 0; key < columns; key++) values[key] = cells[key] >= 0 ? cells[key] / share : NaN;
    this.measure.fill(values, this, query);
    if (hides) for (const key of pattern.resting) values[key] = NaN;
    this.filled = query;
    return values;
  }

  /** @param {number} query @param {number} key */
  value(query, key) {
    return this.row(query)[key];
  }

  // Why a cell has no value, or null.
  /** @type {(query: number, key: number) => Lack | null} */
  lack(query, key) {
    const cell = this.pattern.cell(query, key);
    if (cell === MASKED_CELL) return "masked";
    if (cell === ABSENT_CELL) return "absent";
    if (this.hides && this.pattern.resting.has(key)) return "hidden";
    return Number.isNaN(this.value(query, key)) ? "unknown" : null;
  }

  /** @type {(query: number, key: number) => string} */
  text(query, key) {
    const lack = this.lack(query, key);
    if (lack) return lack;
    if (this.measure.text && !(this.renormalises && this.show === "weight")) return this.measure.text(this, query, key);
    return this.format(this.value(query, key));
  }

  /** @param {number} value */
  format(value) {
    return this.measure.signed ? withSign(value) : significant(value);
  }

  // [name, value] pairs for a tooltip. Anybody's arrays have weights alone.
  /** @type {(query: number, key: number) => TooltipRow[]} */
  describe(query, key) {
    const { pattern } = this;
    const lack = this.lack(query, key);
    if (lack === "masked" || lack === "absent") return [["weight", lack]];
    const weight = pattern.weight(query, key) / (lack ? 1 : this.share(query));
    /** @type {TooltipRow[]} */
    const left = this.renormalises && !lack ? [["without the sinks", significant(weight)]] : [];
    /** @type {TooltipRow[]} */
    const disagreement = this.show === "disagreement" ? [["weight − written", this.text(query, key)]] : [];
    /** @type {TooltipRow[]} */
    const score = pattern.hasScore(query) ? [["score", pattern.scoreText(query, key)]] : [];
    /** @type {TooltipRow[]} */
    const written = Number.isNaN(pattern.norms[key]) ? [] : [["value-weighted norm", significant(weight * pattern.norms[key])]];
    /** @type {TooltipRow[]} */
    const rank = pattern.isPart ? [] : [["rank", pattern.rankText(query, key)]];
    return [
      ["weight", pattern.weightText(query, key)],
      ...left,
      ...score,
      ...written,
      ...disagreement,
      ...rank,
    ];
  }
}

// The cells of several queries or keys as one number: their sum, of scores their mean; NaN if none has a value.
/** @param {Shown} head @param {number[]} queries @param {number[]} keys */
function combinedValue(head, queries, keys) {
  const cells = queries.flatMap((query) => keys.map((key) => head.value(query, key)));
  const values = cells.filter((value) => !Number.isNaN(value));
  if (values.length === 0) return NaN;
  const sum = values.reduce((total, value) => total + value, 0);
  return combinedName(head) === "mean" ? sum / values.length : sum;
}

// The size of a head's largest value, found once.
/** @param {Shown} head */
function largestValue(head) {
  if (head.largest !== undefined) return head.largest;
  head.largest = 0;
  for (let query = 0; query < head.rows; query++) {
    for (const value of head.row(query)) if (Math.abs(value) > head.largest) head.largest = Math.abs(value);
  }
  return head.largest;
}
