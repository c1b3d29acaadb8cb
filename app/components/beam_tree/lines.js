// The lines to the nodes of one step, on a canvas as wide as the gap before them: one for a whole search could be larger
// than browsers allow. The faintest are drawn first.
const START_RADIUS = 5; // CSS pixels
/** @typedef {BeamState | "chosen"} LineLook */
/** @typedef {{ from: number, to: number, look: LineLook, isFirst: boolean }} TreeLine two heights, and whether it comes from the start */
/** @type {Record<LineLook, { width: number, dashes: number[], colour: (theme: Theme) => Rgb }>} */
const LINE_LOOKS = {
  dropped: { width: 1, dashes: [3, 3], colour: ({ background, text }) => mixColours(background, text, 0.35) },
  kept: { width: 1.5, dashes: [], colour: ({ text }) => text },
  finished: { width: 1.5, dashes: [], colour: ({ text }) => text },
  chosen: { width: 3, dashes: [], colour: ({ pin }) => pin },
};

/** @param {HTMLCanvasElement} canvas @param {Theme} theme @param {number} height @param {TreeLine[]} lines */
function drawStep(canvas, theme, height, lines) {
  const context = sizedContext(canvas, LINE_ROOM, height);
  for (const [look, { width, dashes, colour }] of Object.entries(LINE_LOOKS)) {
    context.lineWidth = width;
    context.setLineDash(dashes);
    context.strokeStyle = cssColour(colour(theme));
    for (const line of lines) if (line.look === look) drawLine(context, line);
  }
  const first = lines.find(({ isFirst }) => isFirst);
  if (first) drawStart(context, theme, first.from);
}

/** @param {CanvasRenderingContext2D} context @param {TreeLine} line */
function drawLine(context, { from, to, isFirst }) {
  const start = isFirst ? LINE_ROOM / 2 : 0;
  const bend = (start + LINE_ROOM) / 2;
  context.beginPath();
  context.moveTo(start, from);
  context.bezierCurveTo(bend, from, bend, to, LINE_ROOM, to);
  context.stroke();
}

/** @param {CanvasRenderingContext2D} context @param {Theme} theme @param {number} height */
function drawStart(context, theme, height) {
  context.fillStyle = cssColour(theme.text);
  context.beginPath();
  context.arc(LINE_ROOM / 2, height, START_RADIUS, 0, 2 * Math.PI);
  context.fill();
}
