// How large panels are, how many stand in a line, and where in a panel its matrix lies; CSS pixels.
const SMALLEST_PANEL = 250;
const SMALLEST_OF_THREE = 170; // where A, B and B - A stand side by side
const LARGEST_PANEL = 560;
const MOST_COLUMNS = 3;
const ON_SCREEN = 6; // heads seen at once; more are scrolled to
const PANEL_GAP = 18;
const LINE_GAP = 14;
const CAPTION_HEIGHT = 26;
const MATRIX_TOP = 6; // half of the first label stands above the matrix

function panelLayout(comparisons, width, size, labelWidth) {
  const scrolls = comparisons.length > ON_SCREEN;
  const room = scrolls ? width - SCROLL_BAR : width;
  const columns = panelColumns(comparisons, room);
  const panelWidth = Math.min(LARGEST_PANEL, Math.floor((room - (columns - 1) * PANEL_GAP) / columns));
  const left = labelWidth + LABEL_GAP + 2;
  const side = crispSize(size, Math.floor((panelWidth - left - 1) * devicePixelRatio)) / devicePixelRatio;
  const height = Math.ceil(MATRIX_TOP + side + left);
  const panels = ON_SCREEN * mostHeads(comparisons);
  const six = Math.ceil(panels / columns) * (CAPTION_HEIGHT + height + LINE_GAP);
  return { columns, width: panelWidth, height, left, top: MATRIX_TOP, side, visible: scrolls ? six : null };
}

const mostHeads = (comparisons) => Math.max(1, ...comparisons.map(({ heads }) => heads.length));

function panelColumns(comparisons, room) {
  const fitting = (smallest) => Math.floor((room + PANEL_GAP) / (smallest + PANEL_GAP));
  if (mostHeads(comparisons) > 1) return fitting(SMALLEST_OF_THREE) < MOST_COLUMNS ? 1 : MOST_COLUMNS;
  const count = comparisons.length === 4 ? 2 : comparisons.length;
  return Math.max(1, Math.min(MOST_COLUMNS, fitting(SMALLEST_PANEL), count));
}
