// One head's attention: uint16 codes as coding.py writes them, and the log-sum-exp of each query's scores.
const MASKED = 0;
const ZERO = 1;
const LOWEST = 2;
const ONE = 65535;
const LOWEST_LOG_WEIGHT = -24;

const logWeight = (code) => LOWEST_LOG_WEIGHT * (1 - (code - LOWEST) / (ONE - LOWEST));
const weightOf = (code) => (code < LOWEST ? 0 : Math.exp(logWeight(code)));
const SCALES = { sqrt: Math.sqrt, linear: (weight) => weight };

// The colour of each code, ready for ImageData; masked cells are hatched instead.
function weightColours(map, scale) {
  const packed = map.map(packedColour);
  return Uint32Array.from({ length: ONE + 1 }, (_, code) => colourAt(packed, SCALES[scale](weightOf(code))));
}

class Pattern {
  constructor({ values, shape }, logsumexp) {
    [this.rows, this.columns] = shape;
    this.codes = values;
    this.logsumexp = logsumexp.values;
  }

  get masked() {
    return this.codes.includes(MASKED);
  }

  code(query, key) {
    return this.codes[query * this.columns + key];
  }

  weightText(query, key) {
    const code = this.code(query, key);
    if (code === MASKED) return "masked";
    return code === ZERO ? `< ${Math.exp(LOWEST_LOG_WEIGHT).toPrecision(1)}` : significant(weightOf(code));
  }

  scoreText(query, key) {
    const code = this.code(query, key);
    const score = logWeight(Math.max(code, LOWEST)) + this.logsumexp[query];
    return `${code === ZERO ? "< " : ""}${score.toFixed(3)}`;
  }

  // Rank 1 is the row's largest weight; equal weights share a rank.
  rankText(query, key) {
    const row = this.codes.subarray(query * this.columns, (query + 1) * this.columns);
    const larger = row.filter((code) => code > this.code(query, key)).length;
    return `${1 + larger} of ${row.filter((code) => code !== MASKED).length}`;
  }

  // [name, value] pairs for a tooltip.
  describe(query, key, queryLabels, keyLabels) {
    const rows = [
      [`query ${query}`, queryLabels[query]],
      [`key ${key}`, keyLabels[key]],
      ["weight", this.weightText(query, key)],
    ];
    if (this.code(query, key) === MASKED) return rows;
    return [...rows, ["score", this.scoreText(query, key)], ["rank", this.rankText(query, key)]];
  }
}
