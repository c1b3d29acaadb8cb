// One head's attention in one run: uint16 codes [query, key] as coding.py writes them, the log-sum-exp of each query's
// scores, and the norm of what the head would write from each key.
const MASKED = 0;
const ABSENT = 1;
const ZERO = 2;
const LOWEST = 3;
const ONE = 65535;
const LOWEST_LOG_WEIGHT = -24;

const logWeight = (code) => LOWEST_LOG_WEIGHT * (1 - (code - LOWEST) / (ONE - LOWEST));
const weightOf = (code) => (code < LOWEST ? 0 : Math.exp(logWeight(code)));
const WEIGHTS = Float32Array.from({ length: ONE + 1 }, (_, code) => weightOf(code));

class Pattern {
  constructor({ values, shape }, logsumexp, norms) {
    [this.rows, this.columns] = shape;
    this.codes = values;
    this.logsumexp = logsumexp.values;
    this.norms = norms.values;
    this.hasQuery = upTo(this.rows).map((query) => this.row(query).some((code) => code !== ABSENT));
    this.first = upTo(this.columns).find((key) => this.hasKey(key)) ?? 0;
  }

  code(query, key) {
    return this.codes[query * this.columns + key];
  }

  // Whether the run has a token at this place of the keys' axis; `hasQuery` says it of the queries'.
  hasKey(key) {
    return upTo(this.rows).some((query) => this.code(query, key) !== ABSENT);
  }

  row(query) {
    return this.codes.subarray(query * this.columns, (query + 1) * this.columns);
  }

  weight(query, key) {
    return WEIGHTS[this.code(query, key)];
  }

  score(query, key) {
    return logWeight(Math.max(this.code(query, key), LOWEST)) + this.logsumexp[query];
  }

  // Whether the weight is too small for its code, and so the score only an upper bound.
  isBound(query, key) {
    return this.code(query, key) === ZERO;
  }

  // A sum over each row, of what `term(query, key)` says.
  sumRows(term) {
    return Float64Array.from({ length: this.rows }, (_, query) => {
      let sum = 0;
      for (let key = 0; key < this.columns; key++) if (this.code(query, key) > ABSENT) sum += term(query, key);
      return sum;
    });
  }

  weightText(query, key) {
    if (this.isBound(query, key)) return `< ${Math.exp(LOWEST_LOG_WEIGHT).toPrecision(1)}`;
    return significant(this.weight(query, key));
  }

  scoreText(query, key) {
    const score = this.score(query, key);
    return Number.isNaN(score) ? "unknown" : `${this.isBound(query, key) ? "< " : ""}${score.toFixed(3)}`;
  }

  // Rank 1 is the row's largest weight; equal weights share a rank.
  rankText(query, key) {
    const row = this.row(query);
    const larger = row.filter((code) => code > this.code(query, key)).length;
    return `${1 + larger} of ${row.filter((code) => code > ABSENT).length}`;
  }
}
