// Numbers and labels in words.
/** @type {(count: number) => number[]} */
const upTo = (count) => Array.from({ length: count }, (_, index) => index);
/** @type {(value: number, least: number, most: number) => number} */
const clamp = (value, least, most) => Math.min(most, Math.max(least, value));
/** @type {(head: HeadIndex) => string} */
const headName = ([layer, head, kind]) => `${kind ? `${kind} ` : ""}L${layer}H${head}`;
/** @type {(text: string) => string} */
const withMinus = (text) => text.replaceAll("-", "−").replace("Infinity", "∞");
/** @type {(value: number) => string} */
const significant = (value) => (value === 0 ? "0" : withMinus(value.toPrecision(4)));

// As tokenizers write tokens that are no text, and as no text is: <div> is one.
const SPECIAL = /^<\|([\w-]+)\|>$|^<(\/?s|bos|eos|cls|sep|pad|unk|mask|(?:start|end)_of_\w+)>$|^\[([A-Z]{3,4})\]$/;
/** @type {Record<string, string>} */
const BOUNDS = { s: "bos", begin_of_text: "bos", "/s": "eos", end_of_text: "eos" };

// A label, or a special token's name without its signs.
/** @type {(label: string, place: number) => string} */
function shortLabel(label, place) {
  const name = (SPECIAL.exec(label) ?? []).slice(1).find(Boolean)?.toLowerCase();
  if (!name) return label;
  return `⟨${name === "endoftext" ? (place === 0 ? "bos" : "eos") : (BOUNDS[name] ?? name)}⟩`;
}

// The same in a sentence: text in quotation marks, a special token's name in its own.
/** @type {(label: string, place: number) => string} */
function quotedLabel(label, place) {
  const name = shortLabel(label, place);
  return name === label ? `“${label}”` : name;
}

// How many positions lie between two labels so that each has `room` pixels.
/** @type {(pitch: number, room: number) => number} */
function labelStep(pitch, room) {
  for (let decade = 1; ; decade *= 10) {
    const step = [decade, 2 * decade, 5 * decade].find((step) => step * pitch >= room);
    if (step) return step;
  }
}

/** @param {CanvasRenderingContext2D} context @param {string} text @param {number} width */
function fitText(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  const letters = Array.from(text);
  while (letters.length > 1 && context.measureText(`${letters.join("")}…`).width > width) letters.pop();
  return `${letters.join("")}…`;
}

/** @param {number} slot */
function slotBadge(slot) {
  const badge = element("span", "badge", String(slot + 1));
  tint(badge, resolveColour(slotColour(slot)));
  return badge;
}

/** @typedef {Axis & { columns: Axis | null }} AxisProps `axis_props` in heads/__init__.py */
/** @typedef {Record<Side, Axis>} Axes */

// The tokens along each side of a matrix: other ones along the columns if there are such.
/** @type {(props: AxisProps) => Axes} */
const axesOf = ({ labels, presence, first, step, columns }) => {
  const axis = { labels, presence, first, step };
  return { query: axis, key: columns ?? axis };
};

// What is pointed at, as what is pinned.
/** @type {(hovered: Hovered) => Marks} */
const marksOf = ({ query, key }) => {
  const places = (/** @type {number | null} */ place) => (place === null ? [] : [place]);
  return { queries: places(query), keys: places(key) };
};

// Marks that are of these tokens: a group's may be the next text's already, of which not all of it have heard.
/** @type {(marks: Marks | null, axes: Axes | undefined) => Marks | null} */
const ownMarks = (marks, axes) => {
  const fits = (/** @type {number[]} */ places, /** @type {Axis} */ { labels }) => places.every((place) => place < labels.length);
  return marks && axes && fits(marks.queries, axes.query) && fits(marks.keys, axes.key) ? marks : null;
};

// A tooltip's row for one token of the axis.
/** @type {(side: Side, place: number, axis: Axis) => TooltipRow} */
function describePlace(side, place, axis) {
  const { labels, presence } = axis;
  const note = PRESENCE_NAMES[presence[place]];
  return [`${side} ${numbersText(axis, place, place)}`, note ? `${labels[place]} (${note})` : labels[place]];
}
