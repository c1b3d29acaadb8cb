// How a step's matrices look: their numbers, sizes and colours, and the letters of their names.
const CELL = 17; // CSS pixels of a key or of a vector's one row
/** @type {Partial<Record<StepAxis, [across: number, down: number]>>} */
const LONGEST = { d_model: [260, 230], d_head: [150, 150], d_value: [150, 150], token: [400, 400], key: [400, 400] };

/** @type {(value: number) => string} */
const numberOf = (value) => (Number.isNaN(value) ? "–" : significant(value));

// How long an axis is drawn: a few pixels an index, up to its longest.
/** @param {StepAxis} axis @param {number} count @param {0 | 1} direction */
function extent(axis, count, direction) {
  const longest = LONGEST[axis];
  return longest ? Math.min(count * CELL, longest[direction]) : CELL;
}

/** @param {Float32Array} values */
function scaleOf(values) {
  let [least, most] = [0, 0];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (value < least) least = value;
    if (value > most) most = value;
  }
  return new ColourScale({ signed: least < 0, root: "sqrt", limit: Math.max(-least, most) || 1 });
}

// Text in which what follows "_" up to the next space stands below the line.
/** @param {string} text */
function formula(text) {
  const line = element("span", "formula");
  for (const [, before, below] of text.matchAll(/([^_]*)(?:_([^\s_ᵀ)\]]+))?/g)) {
    if (before) line.append(before);
    if (below) line.append(element("sub", "", below));
  }
  return line;
}
