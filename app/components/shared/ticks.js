// Round numbers along an axis or a colour bar: 1, 2 or 5 times a power of ten.
/** @type {(value: number, digits: number) => string} */
const inDigits = (value, digits) => withMinus(String(Number(value.toPrecision(digits))));
/** @type {(value: number) => string} */
const plainNumber = (value) => inDigits(value, 4);

/** @param {number} size */
function roundStep(size) {
  const decade = 10 ** Math.floor(Math.log10(size));
  return [1, 2, 5].map((digit) => digit * decade).find((step) => step > size * (1 - 1e-9)) ?? 10 * decade;
}

// Evenly spaced ones, of which the first and the last enclose what lies between `low` and `high`; about `most` of them.
/** @type {(low: number, high: number, most: number) => number[]} */
function linearTicks(low, high, most) {
  const step = roundStep((high - low || 1) / most);
  const first = Math.floor(low / step + 1e-9);
  const last = Math.max(first + 1, Math.ceil(high / step - 1e-9));
  return Array.from({ length: last - first + 1 }, (_, index) => Number(((first + index) * step).toPrecision(12)));
}

// Those between two positive ends, at most `most`, for a logarithmic scale.
/** @type {(low: number, high: number, most: number) => number[]} */
function logTicks(low, high, most) {
  const inside = (/** @type {number[]} */ ticks) => ticks.filter((tick) => low <= tick && tick <= high);
  const first = Math.floor(Math.log10(low));
  const powers = Array.from({ length: Math.ceil(Math.log10(high)) - first + 1 }, (_, index) => 10 ** (first + index));
  const times = (/** @type {number[]} */ digits) => inside(powers.flatMap((power) => digits.map((digit) => digit * power)));
  const ticks = [times([1, 2, 5]), times([1, 3]), times([1])].find((ticks) => ticks.length <= most);
  if (!ticks) return times([1]).filter((_, index, all) => index % Math.ceil(all.length / most) === 0);
  return ticks.length > 1 ? ticks : inside(linearTicks(low, high, most));
}
