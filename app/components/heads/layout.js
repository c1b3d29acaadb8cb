// How large panels are, how many stand in a line, and where in a panel its matrix lies; CSS pixels.
const SMALLEST_PANEL = 330; // two dozen tokens can be read along it
const SMALLEST_OF_THREE = 170; // where A, B and B - A stand side by side
const MAX_PANEL = 560;
const MAX_COLUMNS = 3;
const ON_SCREEN = 6; // heads seen at once; more are scrolled to
const PANEL_GAP = 18;
const LINE_GAP = 14;
const CAPTION_HEIGHT = 26;
const MATRIX_TOP = 6; // half of the first label stands above the matrix

/** @typedef {Record<Side, number>} Sizes */
/** @typedef {ReturnType<typeof panelLayout>} PanelLayout */

// `sizes` and `labelWidths` are those of the queries, which are rows, and of the keys. Cells are squares.
/** @param {Comparison[]} comparisons @param {number} width @param {Sizes} sizes @param {Sizes} labelWidths */
function panelLayout(comparisons, width, sizes, labelWidths) {
  const scrolls = comparisons.length > ON_SCREEN;
  const room = scrolls ? width - SCROLL_BAR : width;
  const columns = panelColumns(comparisons, room);
  const panelWidth = Math.min(MAX_PANEL, Math.floor((room - (columns - 1) * PANEL_GAP) / columns));
  const [left, below] = [labelWidths.query, labelWidths.key].map((labels) => labels + LABEL_GAP + 2);
  const most = Math.max(sizes.query, sizes.key);
  const side = crispSize(most, Math.floor((panelWidth - left - 1) * devicePixelRatio));
  const extent = (/** @type {number} */ count) => Math.max(1, Math.round((side * count) / most)) / devicePixelRatio;
  const matrix = { left, top: MATRIX_TOP, width: extent(sizes.key), height: extent(sizes.query) };
  const height = Math.ceil(MATRIX_TOP + matrix.height + below);
  const panels = ON_SCREEN * mostHeads(comparisons);
  const six = Math.ceil(panels / columns) * (CAPTION_HEIGHT + height + LINE_GAP);
  const caption = side / devicePixelRatio; // a narrow matrix has no narrow title
  return { columns, width: panelWidth, height, matrix, caption, visible: scrolls ? six : null };
}

/** @type {(comparisons: Comparison[]) => number} */
const mostHeads = (comparisons) => Math.max(1, ...comparisons.map(({ heads }) => heads.length));

/** @param {Comparison[]} comparisons @param {number} room */
function panelColumns(comparisons, room) {
  const fitting = (/** @type {number} */ smallest) => Math.floor((room + PANEL_GAP) / (smallest + PANEL_GAP));
  if (mostHeads(comparisons) > 1) return fitting(SMALLEST_OF_THREE) < MAX_COLUMNS ? 1 : MAX_COLUMNS;
  const count = comparisons.length === 4 ? 2 : comparisons.length;
  return Math.max(1, Math.min(MAX_COLUMNS, fitting(SMALLEST_PANEL), count));
}
