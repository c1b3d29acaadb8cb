// B - A. A key that only one of them has counts as zero in the other, but for scores, which both must have.
class HeadDifference {
  filled = -1;
  /** @type {Seen} */
  seen = null;
  /** @type {number | undefined} */
  largest;

  /** @param {MeasuredHead} a @param {MeasuredHead} b @param {string[]} names */
  constructor(a, b, names) {
    this.a = a;
    this.b = b;
    this.names = names;
    /** @type {Measure} */
    this.measure = { ...a.measure, signed: true, most: undefined };
    this.values = new Float64Array(a.columns);
  }

  get patterns() {
    return [this.a.pattern, this.b.pattern];
  }

  get rows() {
    return this.a.rows;
  }

  get columns() {
    return this.a.columns;
  }

  // As of one head.
  /** @param {number} query */
  row(query) {
    if (this.filled === query) return this.values;
    const [before, after] = [this.a.row(query), this.b.row(query)];
    const { values } = this;
    for (let key = 0; key < values.length; key++) {
      const isInOne = Number.isNaN(before[key]) !== Number.isNaN(after[key]);
      values[key] = isInOne ? this.alone(query, key, before[key], after[key]) : after[key] - before[key];
    }
    if (this.a.show === "score") for (const key of values.keys()) if (this.isBound(query, key)) values[key] = NaN;
    this.filled = query;
    return values;
  }

  /** @param {number} query @param {number} key @param {number} before @param {number} after */
  alone(query, key, before, after) {
    if (this.lack(query, key)) return NaN;
    return Number.isNaN(after) ? -before : after;
  }

  /** @param {number} query @param {number} key */
  value(query, key) {
    return this.row(query)[key];
  }

  // A score that is only known to be below something has no difference.
  /** @param {number} query @param {number} key */
  isBound(query, key) {
    return this.a.show === "score" && (this.a.pattern.isBound(query, key) || this.b.pattern.isBound(query, key));
  }

  /** @type {(query: number, key: number) => Lack | null} */
  lack(query, key) {
    const before = this.a.lack(query, key);
    const after = this.b.lack(query, key);
    if (before === "masked" && after === "masked") return "masked";
    if (!this.a.pattern.hasQuery[query] || !this.b.pattern.hasQuery[query]) return "absent";
    /** @type {Lack[]} */
    const reasons = ["hidden", "unknown"];
    const reason = reasons.find((each) => before === each || after === each);
    if (reason) return reason;
    if (this.a.show !== "score") return before && after;
    return before ?? after ?? (this.isBound(query, key) ? "unknown" : null);
  }

  /** @type {(query: number, key: number) => string} */
  text(query, key) {
    return this.lack(query, key) ?? this.format(this.value(query, key));
  }

  /** @param {number} value */
  format(value) {
    return withSign(value);
  }

  /** @type {(query: number, key: number) => TooltipRow[]} */
  describe(query, key) {
    const [a, b, difference] = this.names;
    return [
      [a, this.a.text(query, key)],
      [b, this.b.text(query, key)],
      [difference, this.text(query, key)],
    ];
  }
}
