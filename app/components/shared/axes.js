// Token labels along a matrix: every token where there is room, every second to fifth where there is less, beyond that
// positions. Between label and matrix a mark says which run lacks the token.
/** @typedef {"query" | "key"} Side queries are rows, keys columns */
/**
 * @typedef {{ left: number, top: number, width: number, height: number, visible: Record<Side, [number, number]>,
 *   longestLabel?: number }} Box
 */
/** @typedef {{ queries: number[], keys: number[] }} Marks */
/** @typedef {{ start: number, end: number, pitch: number, at: (place: number) => number, longest: number }} Span */
/** @typedef {"both" | "changed" | "a" | "b"} Presence which of the runs A and B have a token */
/** @typedef {"token" | "word" | "sentence" | "turn" | "block"} Unit what stands at a place */
/**
 * @typedef {{ labels: string[], presence: Presence[], first?: number, step?: number, unit?: Unit }} Axis the tokens along
 *   a side: `axis_props` in heads/__init__.py
 */
const LABEL_ROOM = 11; // CSS pixels from one label to the next
const POSITION_ROOM = 30;
const LABEL_GAP = 6;
const LONGEST_LABEL = 68; // ten letters, such as ⟨im_start⟩
const MAX_SKIPPED = 5;
const MARK_WIDTH = 4;

/** @type {(theme: Theme, weight?: number) => string} */
const labelFont = (theme, weight = 400) => `${weight} ${theme.sizes.label}px ${theme.codeFont}`;

// How a label is written: bold where it is marked.
/** @param {CanvasRenderingContext2D} context @param {Theme} theme */
function setLabelLook(context, theme, isMarked = false) {
  context.font = labelFont(theme, isMarked ? 700 : 400);
  context.fillStyle = cssColour(isMarked ? theme.text : theme.faded);
}

// The places of `box` along one side ("query": rows, "key": columns): first, one past the last, how far apart, and how long
// a label may be.
/** @type {(box: Box, side: Side) => Span} */
function axisSpan(box, side) {
  const [start, end] = box.visible[side];
  const pitch = (side === "query" ? box.height : box.width) / (end - start);
  return { start, end, pitch, at: (place) => (place - start) * pitch, longest: box.longestLabel ?? LONGEST_LABEL };
}

// The number of a place's first token.
/** @type {(axis: Pick<Axis, "first" | "step">, place: number) => number} */
const numberAt = ({ first = 0, step = 1 }, place) => first + place * step;

// The numbers of the tokens from one place to another.
/** @type {(axis: Axis, from: number, to: number) => string} */
function numbersText(axis, from, to) {
  const [first, last] = [numberAt(axis, from), numberAt(axis, to + 1) - 1];
  return first === last ? `${first}` : `${first}–${last}`;
}

// The places to label, and what to write there.
/** @type {(axis: Pick<Axis, "labels" | "first" | "step">, span: Span) => [number, string][]} */
function axisLabels(axis, { start, end, pitch }) {
  const { labels } = axis;
  const named = labelStep(pitch, LABEL_ROOM) <= MAX_SKIPPED;
  const step = labelStep(pitch, named ? LABEL_ROOM : POSITION_ROOM);
  const places = upTo(end - start).map((index) => start + index);
  return places.filter((place) => place % step === 0).map((place) => [place, named ? shortLabel(labels[place], place) : String(numberAt(axis, place))]);
}

/** @typedef {CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D} TextContext */
/** @type {(context: TextContext, labels: string[]) => number} */
const textWidth = (context, labels) =>
  Math.max(...labels.map((label, place) => context.measureText(shortLabel(label, place)).width));

/** @param {TextContext} context @param {Theme} theme @param {string[]} labels @param {number} longest */
function widestLabel(context, theme, labels, longest = LONGEST_LABEL) {
  context.font = labelFont(theme);
  return Math.ceil(clamp(textWidth(context, labels), 24, longest));
}

// One axis of `box`: beside the rows, or under the columns and turned upwards.
/** @param {CanvasRenderingContext2D} context @param {Theme} theme @param {Box} box @param {Side} side @param {Axis} axis */
function drawAxis(context, theme, box, side, axis) {
  const span = axisSpan(box, side);
  context.save();
  turnTo(context, box, side);
  setLabelLook(context, theme);
  for (const [place, text] of axisLabels(axis, span)) drawAxisLabel(context, span, place, text);
  for (let place = span.start; place < span.end; place++) drawPresence(context, theme, span, place, axis.presence[place]);
  context.restore();
}

// What a side is, in the middle of its labels: left of the rows' from `edge` on, or under the columns' up to it.
/** @param {CanvasRenderingContext2D} context @param {Theme} theme @param {Box} box @param {Side} side @param {string} name @param {number} edge */
function drawAxisName(context, theme, box, side, name, edge) {
  const { left, top, width, height } = box;
  context.save();
  context.font = `${theme.sizes.caption}px ${theme.font}`;
  context.fillStyle = cssColour(theme.faded);
  context.textAlign = "center";
  if (side === "query") {
    context.translate(edge, top + height / 2);
    context.rotate(-Math.PI / 2);
    context.textBaseline = "top";
  } else {
    context.translate(left + width / 2, edge);
    context.textBaseline = "bottom";
  }
  context.fillText(name, 0, 0);
  context.restore();
}

// The columns' names once more, over a tall box of which the lower end may be out of sight.
/** @param {CanvasRenderingContext2D} context @param {Theme} theme @param {Box} box @param {string[]} labels */
function drawAxisAbove(context, theme, box, labels) {
  const span = axisSpan(box, "key");
  context.save();
  turnTo(context, { ...box, height: 0 }, "key");
  setLabelLook(context, theme);
  [context.textBaseline, context.textAlign] = ["middle", "left"];
  for (const [place, text] of axisLabels({ labels }, span)) {
    context.fillText(fitText(context, text, span.longest), LABEL_GAP, span.at(place + 0.5) + 0.5);
  }
  context.restore();
}

// On a canvas above: a place's label in bold, in place of the plain ones that it touches.
/**
 * @param {CanvasRenderingContext2D} context @param {Theme} theme @param {Box} box @param {Side} side
 * @param {string[]} labels @param {number} place @param {Rgb} colour
 */
function drawAxisMark(context, theme, box, side, labels, place, colour) {
  const span = axisSpan(box, side);
  if (place < span.start || place >= span.end) return;
  context.save();
  turnTo(context, box, side);
  context.fillStyle = cssColour(theme.background);
  context.font = labelFont(theme, 700);
  const covered = axisLabels({ labels }, span).filter(([other]) => Math.abs(other - place) * span.pitch < LABEL_ROOM);
  const name = shortLabel(labels[place], place);
  for (const [other, text] of [...covered, /** @type {[number, string]} */ ([place, name])]) {
    // No wider than the label: behind it the axis has its name.
    const width = Math.min(span.longest, context.measureText(text).width) + 1;
    context.fillRect(-width - LABEL_GAP, span.at(other + 0.5) - LABEL_ROOM / 2, width, LABEL_ROOM);
  }
  context.fillStyle = cssColour(colour);
  drawAxisLabel(context, span, place, name);
  context.restore();
}

// The origin at the corner of the matrix where the side begins, labels to the left, places downwards.
/** @param {CanvasRenderingContext2D} context @param {Box} box @param {Side} side */
function turnTo(context, box, side) {
  if (side === "query") return context.translate(box.left, box.top);
  context.translate(box.left, box.top + box.height);
  context.transform(0, -1, 1, 0, 0, 0);
}

/** @param {CanvasRenderingContext2D} context @param {Span} span @param {number} place @param {string} text */
function drawAxisLabel(context, span, place, text) {
  context.textBaseline = "middle";
  context.textAlign = "right";
  context.fillText(fitText(context, text, span.longest), -LABEL_GAP, span.at(place + 0.5) + 0.5);
}

// Only in A: an empty bar. Only in B: a full one. Another token in B: a dot.
/** @param {CanvasRenderingContext2D} context @param {Theme} theme @param {Span} span @param {number} place @param {Presence} kind */
function drawPresence(context, theme, span, place, kind) {
  if (kind === "both") return;
  const top = span.at(place);
  const left = -MARK_WIDTH - 1;
  const colour = { a: theme.onlyA, b: theme.onlyB, changed: theme.text }[kind];
  context.fillStyle = context.strokeStyle = cssColour(colour);
  context.lineWidth = 1;
  if (kind === "a") context.strokeRect(left + 0.5, top + 1, MARK_WIDTH - 1, Math.max(0, span.pitch - 2));
  else if (kind === "b") context.fillRect(left, top + 0.5, MARK_WIDTH, Math.max(1, span.pitch - 1));
  else context.fillRect(left, span.at(place + 0.5) - MARK_WIDTH / 2, MARK_WIDTH, MARK_WIDTH);
}
