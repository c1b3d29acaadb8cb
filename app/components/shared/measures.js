// What is shown of a head: one measure of each cell, with the first token kept, hidden or left out; or the difference
// of two heads in that measure. Cells without a number say in words why.
const MEASURES = {
  weight: {
    title: "attention weight",
    most: 1,
    value: (weight) => weight,
    text: (head, query, key) => head.pattern.weightText(query, key),
  },
  score: {
    title: "score before the softmax (nats)",
    signed: true,
    root: "linear", // a score is a logarithm already,
    combined: "mean", // and a sum of logarithms is none of anything
    value: (_, head, query, key) => head.pattern.score(query, key),
    text: (head, query, key) => head.pattern.scoreText(query, key),
  },
  write: {
    title: "value-weighted norm (L2 norm)",
    value: (weight, { pattern }, _, key) => weight * pattern.norms[key],
  },
  disagreement: {
    title: "weight − share of the written norm",
    signed: true,
    value: (weight, { pattern, written }, query, key) => weight - (weight * pattern.norms[key]) / written[query],
  },
};

// What became of the first token, or null. Scores do not sum to anything, and stay as they are.
function firstTokenNote(show, sink) {
  if (sink === "keep") return null;
  if (sink === "hide" || show === "score") return "first token hidden";
  return "first token hidden, the other weights of a row sum to 1";
}

const combinedName = ({ measure }) => measure.combined ?? "sum";
const known = (value) => (Number.isNaN(value) ? "unknown" : significant(value));
const withSign = (value) => `${value > 0 ? "+" : ""}${significant(value)}`;

class MeasuredHead {
  constructor(pattern, show, sink) {
    this.pattern = pattern;
    this.show = show;
    this.measure = MEASURES[show];
    this.hides = sink !== "keep";
    this.renormalises = sink === "renormalise";
  }

  // Each row's weights without the first token's.
  get rest() {
    const { pattern } = this;
    const others = (query, key) => (key === pattern.first ? 0 : pattern.weight(query, key));
    return (this.rests ??= pattern.sumRows(others));
  }

  // All that each row writes.
  get written() {
    return (this.writtens ??= this.pattern.sumRows((query, key) => this.writtenFrom(query, key)));
  }

  get rows() {
    return this.pattern.rows;
  }

  get columns() {
    return this.pattern.columns;
  }

  writtenFrom(query, key) {
    return this.renormalises && key === this.pattern.first ? 0 : this.weight(query, key) * this.pattern.norms[key];
  }

  // The weight, as a share of the row without its first token if that is left out.
  weight(query, key) {
    const weight = this.pattern.weight(query, key);
    return this.renormalises ? weight / this.rest[query] : weight;
  }

  // NaN where the cell has none.
  value(query, key) {
    if (!this.pattern.isKnown(query, key) || (this.hides && key === this.pattern.first)) return NaN;
    return this.measure.value(this.weight(query, key), this, query, key);
  }

  // Why a cell has no value, or null.
  lack(query, key) {
    const cell = this.pattern.cell(query, key);
    if (cell === MASKED_CELL) return "masked";
    if (cell === ABSENT_CELL) return "absent";
    if (this.hides && key === this.pattern.first) return "hidden";
    return Number.isNaN(this.value(query, key)) ? "unknown" : null;
  }

  text(query, key) {
    const lack = this.lack(query, key);
    if (lack) return lack;
    if (this.measure.text && !(this.renormalises && this.show === "weight")) return this.measure.text(this, query, key);
    return this.format(this.value(query, key));
  }

  format(value) {
    return this.measure.signed ? withSign(value) : significant(value);
  }

  // [name, value] pairs for a tooltip.
  describe(query, key) {
    const { pattern } = this;
    const lack = this.lack(query, key);
    if (lack === "masked" || lack === "absent") return [["weight", lack]];
    const weight = lack ? pattern.weight(query, key) : this.weight(query, key);
    const left = this.renormalises && !lack ? [["without the first", significant(weight)]] : [];
    const disagreement = this.show === "disagreement" ? [["weight − written", this.text(query, key)]] : [];
    return [
      ["weight", pattern.weightText(query, key)],
      ...left,
      ["score", pattern.scoreText(query, key)],
      ["value-weighted norm", known(weight * pattern.norms[key])],
      ...disagreement,
      ["rank", pattern.rankText(query, key)],
    ];
  }
}

// B - A. A key that only one of them has counts as zero in the other, but for scores, which both must have.
class HeadDifference {
  constructor(a, b, names) {
    Object.assign(this, { a, b, names });
    this.measure = { ...a.measure, signed: true, most: undefined };
  }

  get rows() {
    return this.a.rows;
  }

  get columns() {
    return this.a.columns;
  }

  value(query, key) {
    const before = this.a.value(query, key);
    const after = this.b.value(query, key);
    const difference = after - before;
    if (!Number.isNaN(difference)) return this.isBound(query, key) ? NaN : difference;
    if ((Number.isNaN(before) && Number.isNaN(after)) || this.lack(query, key)) return NaN;
    return Number.isNaN(after) ? -before : after;
  }

  // A score that is only known to be below something has no difference.
  isBound(query, key) {
    return this.a.show === "score" && (this.a.pattern.isBound(query, key) || this.b.pattern.isBound(query, key));
  }

  lack(query, key) {
    const before = this.a.lack(query, key);
    const after = this.b.lack(query, key);
    if (before === "masked" && after === "masked") return "masked";
    if (!this.a.pattern.hasQuery[query] || !this.b.pattern.hasQuery[query]) return "absent";
    const reason = ["hidden", "unknown"].find((reason) => before === reason || after === reason);
    if (reason) return reason;
    if (this.a.show !== "score") return before && after;
    return before ?? after ?? (this.isBound(query, key) ? "unknown" : null);
  }

  text(query, key) {
    return this.lack(query, key) ?? this.format(this.value(query, key));
  }

  format(value) {
    return withSign(value);
  }

  describe(query, key) {
    const [a, b, difference] = this.names;
    return [
      [a, this.a.text(query, key)],
      [b, this.b.text(query, key)],
      [difference, this.text(query, key)],
    ];
  }
}

// The cells of several queries or keys as one number: their sum, of scores their mean; NaN if none has a value.
function combinedValue(head, queries, keys) {
  const cells = queries.flatMap((query) => keys.map((key) => head.value(query, key)));
  const values = cells.filter((value) => !Number.isNaN(value));
  if (values.length === 0) return NaN;
  const sum = values.reduce((total, value) => total + value, 0);
  return combinedName(head) === "mean" ? sum / values.length : sum;
}

// The size of a head's largest value, found once.
function largestValue(head) {
  if (head.largest !== undefined) return head.largest;
  head.largest = 0;
  for (let query = 0; query < head.rows; query++) {
    for (let key = 0; key < head.columns; key++) {
      const size = Math.abs(head.value(query, key));
      if (size > head.largest) head.largest = size;
    }
  }
  return head.largest;
}
