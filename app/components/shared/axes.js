// Token labels along a matrix: every token where there is room, every second to fifth where there is less, beyond that
// positions.
const LABEL_FONT_SIZE = 11;
const LABEL_ROOM = 11; // CSS pixels from one label to the next
const POSITION_ROOM = 30;
const LABEL_GAP = 6;
const LONGEST_LABEL = 64;
const MOST_SKIPPED = 5;

const labelFont = (theme, weight = 400) => `${weight} ${LABEL_FONT_SIZE}px ${theme.codeFont}`;

// The positions to label, and what to write there.
function axisLabels(labels, pitch) {
  const named = labelStep(pitch, LABEL_ROOM) <= MOST_SKIPPED;
  const step = labelStep(pitch, named ? LABEL_ROOM : POSITION_ROOM);
  const positions = labels.map((_, index) => index).filter((index) => index % step === 0);
  return positions.map((index) => ({ index, text: named ? labels[index] : String(index) }));
}

function widestLabel(context, theme, labels) {
  context.font = labelFont(theme);
  const widest = Math.max(...labels.map((text) => context.measureText(text).width));
  return Math.ceil(Math.min(LONGEST_LABEL, Math.max(widest, 24)));
}

// One axis of `box`: beside the rows ("query"), or under the columns and turned upwards ("key"). Each of `marks`,
// { index, colour }, is written in bold unless its index is null; labels and earlier marks that it touches go.
function drawAxis(context, theme, box, axis, labels, marks) {
  const pitch = axis === "query" ? box.height / box.rows : box.width / box.columns;
  const plain = axisLabels(labels, pitch).map((label) => ({ ...label, weight: 400, colour: theme.faded }));
  const marked = marks
    .filter(({ index }) => index !== null)
    .map(({ index, colour }) => ({ index, colour, weight: 700, text: labels[index] }));
  const touches = (one, other) => Math.abs(one.index - other.index) * pitch < LABEL_ROOM;
  const all = [...plain, ...marked];
  for (const [order, label] of all.entries()) {
    if (all.slice(Math.max(order + 1, plain.length)).some((later) => touches(label, later))) continue;
    const { index, text, weight, colour } = label;
    context.font = labelFont(theme, weight);
    context.fillStyle = cssColour(colour);
    drawAxisLabel(context, box, axis, (index + 0.5) * pitch, text);
  }
}

function drawAxisLabel(context, box, axis, along, text) {
  context.save();
  context.textBaseline = "middle";
  context.textAlign = "right";
  if (axis === "query") context.translate(box.left - LABEL_GAP, box.top + along);
  else {
    context.translate(box.left + along, box.top + box.height + LABEL_GAP);
    context.rotate(-Math.PI / 2);
  }
  context.fillText(fitText(context, text, LONGEST_LABEL), 0, 0.5);
  context.restore();
}
