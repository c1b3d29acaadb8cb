// From values to colours: linear and signed scales are those of all pictures; lengths that differ by powers of ten have
// a logarithmic one.
const TICKS_OF_BAR = 5;
const NEAREST_TICK = 0.14; // as a share of the bar

class LinearScale extends ColourScale {
  /** @param {number} value */
  level(value) {
    return super.level(Math.max(0, value));
  }
}

class LogScale extends ColourScale {
  /** @param {[low: number, high: number]} ends */
  constructor([low, high]) {
    super({ root: "linear", limit: high });
    this.low = Math.log(low);
    this.high = Math.log(high);
  }

  /** @param {number} value */
  share(value) {
    return clamp((Math.log(value) - this.low) / (this.high - this.low || 1), 0, 1);
  }

  /** @param {number} value */
  level(value) {
    return FIRST_LEVEL + Math.round(this.sizes * this.share(value));
  }

  // Its values differ by powers of ten, so that every one of them is something.
  /** @param {number} value */
  isLarge(value) {
    return !Number.isNaN(value);
  }

  // Both ends, and the round numbers that are not too near to them.
  /** @returns {Tick[]} */
  ticks() {
    const [low, high] = [this.low, this.high].map(Math.exp);
    /** @type {Tick[]} */
    const between = logTicks(low, high, TICKS_OF_BAR).map((tick) => [this.share(tick), plainNumber(tick)]);
    const free = between.filter(([share]) => share > NEAREST_TICK && share < 1 - NEAREST_TICK);
    return [[0, this.tickText(low)], ...free, [1, this.tickText(high)]];
  }
}

/** @type {Record<string, (ends: [low: number, high: number], centre: number) => ColourScale>} */
const MAP_SCALES = {
  linear: ([, high]) => new LinearScale({ root: "linear", limit: roundLimitUp(high) }),
  log: (ends) => new LogScale(ends),
  signed: ([, high], centre) => new ColourScale({ signed: true, root: "sqrt", limit: roundLimitUp(high), centre }),
};
