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

// Of several tokens the first's stream may be a hundred times as long as any other: it has the last colours then, and the
// others are told apart.
/** @param {Float32Array} values @param {number} nTokens */
function scaleOf(values, nTokens) {
  const most = values.subarray(nTokens > 1 ? values.length / nTokens : 0).reduce(larger, 0);
  return new ColourScale({ signed: values.some((value) => value < 0), root: "sqrt", limit: most || 1 });
}

/** @type {(most: number, value: number) => number} */
const larger = (most, value) => (Number.isFinite(value) ? Math.max(most, Math.abs(value)) : most);

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
