// How large panels are, how many stand in a line, and where in a panel its matrix lies; CSS pixels.
const SMALLEST_PANEL = 330; // two dozen tokens can be read along it
const SMALLEST_OF_THREE = 170; // where A, B and B - A stand side by side
const MAX_PANEL = 560;
const LARGEST = 640; // of one that others stand beside, and the least, along which two dozen tokens can be read
const LEAST_LARGE = 360;
const BESIDE = 220; // those, without labels; two abreast where there is room for so much of each
const LEAST_BESIDE = 180;
const AROUND = 490; // of the window's height, what a panel cannot have
const AXIS_NAME = 17; // its line, in panels of which it leaves enough
const NAMED = 260;
const BARE_LEFT = 2;
const MAX_COLUMNS = 3;
const ON_SCREEN = 6; // heads seen at once; more are scrolled to
const PANEL_GAP = 18;
const LINE_GAP = 14;
const CAPTION_HEIGHT = 26;
const MATRIX_TOP = 6; // half of the first label stands above the matrix

/** @typedef {Record<Side, number>} Sizes */
/** @typedef {{ width: number, height: number, matrix: { left: number, top: number, width: number, height: number }, caption: number, isBare: boolean, hasNames: boolean }} PanelLayout */
/**
 * @typedef {{ panel: PanelLayout, beside: PanelLayout | null, isBelow: boolean, columns: string, rows: string,
 *   visible: number | null }} HeadsLayout
 */

// `sizes` and `labelWidths` are those of the queries, which are rows, and of the keys. Two to four heads are one large panel
// and small ones beside it, or where there is no room abreast below it; others stand in a grid of equal ones.
/** @type {(comparisons: Comparison[], width: number, sizes: Sizes, labelWidths: Sizes) => HeadsLayout} */
function headsLayout(comparisons, width, sizes, labelWidths) {
  const besides = comparisons.length - 1;
  const tall = Math.max(LEAST_LARGE, innerHeight - AROUND + labelWidths.query);
  const left = width - BESIDE - PANEL_GAP;
  const hasLarge = mostHeads(comparisons) === 1 && besides >= 1 && besides <= 3;
  if (hasLarge && left >= SMALLEST_PANEL) {
    const panel = panelLayout(Math.min(LARGEST, left, tall), sizes, labelWidths);
    const two = Math.floor((width - panel.width) / 2) - PANEL_GAP;
    const abreast = besides > 1 && two >= LEAST_BESIDE ? 2 : 1;
    const besideWidth = Math.min(BESIDE, abreast === 2 ? two : Math.max(LEAST_BESIDE, sideOf(panel.height, besides)));
    const columns = `${panel.width}px repeat(${abreast}, ${besideWidth}px)`;
    const rows = `repeat(${Math.ceil(besides / abreast)}, max-content) 1fr`;
    return { panel, beside: panelLayout(besideWidth, sizes, null), isBelow: false, columns, rows, visible: null };
  }
  const below = Math.min(besides, Math.floor((width + PANEL_GAP) / (LEAST_BESIDE + PANEL_GAP)));
  if (hasLarge && below > 1) {
    const panel = panelLayout(Math.min(MAX_PANEL, width, tall), sizes, labelWidths);
    const share = (/** @type {number} */ whole) => Math.floor((whole - (below - 1) * PANEL_GAP) / below);
    const belowWidth = clamp(share(panel.width), LEAST_BESIDE, share(width)); // as wide as the large one together
    const columns = `repeat(${below}, ${belowWidth}px)`;
    return { panel, beside: panelLayout(belowWidth, sizes, null), isBelow: true, columns, rows: "", visible: null };
  }
  const scrolls = comparisons.length > ON_SCREEN;
  const room = scrolls ? width - SCROLL_BAR : width;
  const abreast = panelColumns(comparisons, room);
  const most = besides > 0 && abreast === 1 ? Math.min(MAX_PANEL, tall) : MAX_PANEL; // the first is whole in sight
  const panelWidth = Math.min(most, Math.floor((room - (abreast - 1) * PANEL_GAP) / abreast));
  const panel = panelLayout(panelWidth, sizes, labelWidths);
  const panels = ON_SCREEN * mostHeads(comparisons);
  const six = Math.ceil(panels / abreast) * (CAPTION_HEIGHT + panel.height + LINE_GAP);
  const columns = `repeat(${abreast}, ${panelWidth}px)`;
  return { panel, beside: null, isBelow: false, columns, rows: "", visible: scrolls ? six : null };
}

// Of one of several pictures below each other that are as high as a panel together.
/** @param {number} height @param {number} count */
const sideOf = (height, count) => Math.floor((height - (count - 1) * (LINE_GAP + CAPTION_HEIGHT)) / count) - MATRIX_TOP;

// Cells are squares. A bare panel has no labels.
/** @type {(width: number, sizes: Sizes, labelWidths: Sizes | null) => PanelLayout} */
function panelLayout(width, sizes, labelWidths) {
  const name = width >= NAMED ? AXIS_NAME : 0;
  const around = (/** @type {Side} */ side) => (labelWidths ? name + labelWidths[side] + LABEL_GAP + 2 : BARE_LEFT);
  const [left, below] = [around("query"), around("key")];
  const most = Math.max(sizes.query, sizes.key);
  const side = crispSize(most, Math.floor((width - left - 1) * devicePixelRatio));
  const extent = (/** @type {number} */ count) => Math.max(1, Math.round((side * count) / most)) / devicePixelRatio;
  const matrix = { left, top: MATRIX_TOP, width: extent(sizes.key), height: extent(sizes.query) };
  const height = Math.ceil(MATRIX_TOP + matrix.height + below);
  const caption = side / devicePixelRatio; // a narrow matrix has no narrow title
  return { width, height, matrix, caption, isBare: labelWidths === null, hasNames: name > 0 };
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
