// One head's attention in one run: the weights of the cells that are not masked and a bit for each cell, as coding.py
// writes them, the log-sum-exp of each query's scores, and the norm of what the head would write from each key.
const MASKED_CELL = -2;
const ABSENT_CELL = -1;
const SMALLEST = 2 ** -126; // the least weight that float32 holds with all its digits

/** @type {(bits: Uint8Array, place: number) => number} */
const isSet = (bits, place) => (bits[place >> 3] >> (7 - (place & 7))) & 1;

// One past the last bit that is like the one at `start`; bytes of like bits are passed whole.
/** @param {Uint8Array} bits @param {number} start @param {number} count */
function runEnd(bits, start, count) {
  const bit = isSet(bits, start);
  const whole = bit ? 255 : 0;
  let end = start + 1;
  while (end < count && isSet(bits, end) === bit) end += end % 8 === 0 && bits[end / 8] === whole ? 8 : 1;
  return Math.min(end, count);
}

/** @param {Float32Array} visible @param {Uint8Array} masked @param {number} rows @param {number} columns */
function allCells(visible, masked, rows, columns) {
  const cells = new Float32Array(rows * columns).fill(MASKED_CELL);
  const bytes = Math.ceil(columns / 8);
  let next = 0;
  for (let row = 0; row < rows; row++) {
    const bits = masked.subarray(row * bytes, (row + 1) * bytes);
    for (let start = 0, end; start < columns; start = end) {
      end = runEnd(bits, start, columns);
      if (!isSet(bits, start)) cells.set(visible.subarray(next, (next += end - start)), row * columns + start);
    }
  }
  return cells;
}

class Pattern {
  // One that is part of another lacks the rest of its rows, and its first key is no sink by being the first.
  /**
   * @param {Floats} weights @param {Bytes} masked @param {Floats} logsumexp @param {Floats} norms
   * @param {number[]} [sinks]
   */
  constructor(weights, masked, logsumexp, norms, sinks = [], isPart = false) {
    this.isPart = isPart;
    this.rows = logsumexp.values.length;
    this.columns = norms.values.length;
    this.cells = allCells(weights.values, masked.values, this.rows, this.columns);
    this.isMasked = masked.values.some(Boolean);
    this.logsumexp = logsumexp.values;
    this.norms = norms.values;
    // Whether the run has a token at a place of the queries' axis; heads rest on the first one that it has of the keys',
    // and on other sinks.
    this.hasQuery = upTo(this.rows).map((query) => this.row(query).some((cell) => cell !== ABSENT_CELL));
    const hasKey = (/** @type {number} */ key) => upTo(this.rows).some((query) => this.cell(query, key) !== ABSENT_CELL);
    this.resting = new Set(isPart ? sinks : [upTo(this.columns).find(hasKey) ?? 0, ...sinks]);
  }

  // Of arrays in the order of PATTERN_ARRAYS.
  /** @param {Packed[]} arrays */
  static from(arrays, sinks = /** @type {number[]} */ ([]), isPart = false) {
    const [weights, masked, logsumexp, norms] = /** @type {[Floats, Bytes, Floats, Floats]} */ (arrays);
    return new Pattern(weights, masked, logsumexp, norms, sinks, isPart);
  }

  // The weight, or what says that there is none.
  /** @param {number} query @param {number} key */
  cell(query, key) {
    return this.cells[query * this.columns + key];
  }

  /** @param {number} query */
  row(query) {
    return this.cells.subarray(query * this.columns, (query + 1) * this.columns);
  }

  /** @param {number} query @param {number} key */
  weight(query, key) {
    return Math.max(0, this.cell(query, key));
  }

  // Whether the weight is too small for float32, and so the score only an upper bound.
  /** @param {number} query @param {number} key */
  isBound(query, key) {
    const cell = this.cell(query, key);
    return cell >= 0 && cell < SMALLEST;
  }

  // The sum over each row of its weights times the keys' factors, `without` some keys.
  /** @param {Float32Array} factors @param {Set<number>} [without] */
  sumRows(factors, without) {
    return Float64Array.from({ length: this.rows }, (_, query) => {
      const cells = this.row(query);
      let sum = 0;
      for (let key = 0; key < cells.length; key++) if (cells[key] >= 0 && !without?.has(key)) sum += cells[key] * factors[key];
      return sum;
    });
  }

  /** @param {number} query @param {number} key */
  weightText(query, key) {
    if (this.isBound(query, key)) return `< ${withMinus(SMALLEST.toPrecision(1))}`;
    return significant(this.weight(query, key));
  }

  // Whether its scores are known, and not its weights alone.
  /** @param {number} query */
  hasScore(query) {
    return !Number.isNaN(this.logsumexp[query]);
  }

  /** @param {number} query @param {number} key */
  scoreText(query, key) {
    const score = Math.log(Math.max(this.cell(query, key), SMALLEST)) + this.logsumexp[query];
    return Number.isNaN(score) ? "unknown" : `${this.isBound(query, key) ? "< " : ""}${withMinus(score.toFixed(3))}`;
  }

  // Rank 1 is the row's largest weight; equal weights share a rank.
  /** @param {number} query @param {number} key */
  rankText(query, key) {
    const row = this.row(query);
    const larger = row.filter((cell) => cell > this.cell(query, key)).length;
    return `${1 + larger} of ${row.filter((cell) => cell >= 0).length}`;
  }
}
