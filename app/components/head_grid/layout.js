// Where the thumbnails stand: heads in reading order, so many to a line. Lengths on the canvas are in device pixels.
const MAX_PITCH = 144; // CSS pixels from one thumbnail to the next
const FLOW_PITCH = 66; // the least at which a head's name fits under it
const SMALLEST_PITCH = 24;
const TALLEST = 2600;
const AROUND_TABLE = 470; // of the window's height, what a grid of few lines cannot have
const LEAST_OF_FEW = 72;
const DEEP = 1.5; // so many layers to a head, or more, stand across, unless they are few
const FEW_LAYERS = 12;
const ROW_LABEL_WIDTH = 34;
const CAPTION_LINE = 13;
const GRID_KEYS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End", "Control+Home", "Control+End"];

// A line a layer, or where layers are many and there is room to have them across, a line for each place of a head; as large
// as the width allows, and no larger than asked for.
/** @param {number[]} shape @param {number} width @param {number} largest @param {number} [above] @param {number} [below] */
function tableLayout([layerCount, headCount, ...matrix], width, largest, above, below) {
  const isDeep = layerCount >= FEW_LAYERS && layerCount > DEEP * headCount;
  const isTurned = isDeep && (width - ROW_LABEL_WIDTH) / layerCount >= SMALLEST_PITCH;
  const [lines, columns] = isTurned ? [headCount, layerCount] : [layerCount, headCount];
  /** @type {HeadIndex[]} */
  const heads = upTo(lines * columns).map((index) => {
    const [line, column] = [Math.floor(index / columns), index % columns];
    return isTurned ? [column, line] : [line, column];
  });
  const seenAtOnce = Math.max(LEAST_OF_FEW, (innerHeight - AROUND_TABLE) / lines);
  const pitch = tablePitch(lines, columns, width, Math.min(largest, seenAtOnce));
  return new GridLayout(heads, columns, pitch, matrix, { above, below, isTurned });
}

/** @param {number} lines @param {number} columns @param {number} width @param {number} largest */
function tablePitch(lines, columns, width, largest) {
  const tallest = Math.max(SMALLEST_PITCH, TALLEST / lines);
  const widest = (width - ROW_LABEL_WIDTH) / columns;
  return Math.max(SMALLEST_PITCH, Math.min(largest, tallest, widest));
}

// Lines that wrap where the width ends, of thumbnails no smaller than in a table; so many lines of text under each.
/** @param {HeadIndex[]} heads @param {number[]} shape @param {number} width @param {number} captionLines */
function flowLayout(heads, [layerCount, headCount, ...matrix], width, captionLines) {
  const least = Math.max(FLOW_PITCH, tablePitch(layerCount, headCount, width, MAX_PITCH));
  const columns = Math.max(1, Math.floor(width / least));
  const room = Math.min(MAX_PITCH, width / columns);
  return new GridLayout(heads, columns, room, matrix, { below: captionLines * CAPTION_LINE });
}

class GridLayout {
  // `above` and `below` a picture there is room for bars and captions, in CSS pixels.
  /**
   * @param {HeadIndex[]} heads @param {number} columns @param {number} room @param {number[]} matrix
   * @param {{ above?: number, below?: number, isTurned?: boolean }} more
   */
  constructor(heads, columns, room, [rows, cells], { above = 0, below = 0, isTurned = false }) {
    this.heads = heads;
    this.isTurned = isTurned; // layers are columns
    this.columns = Math.min(columns, Math.max(1, heads.length));
    this.lines = Math.ceil(heads.length / this.columns);
    this.gap = 2 * Math.round((clamp(0.09 * room, 4, 10) * devicePixelRatio) / 2);
    const side = Math.floor(room * devicePixelRatio) - this.gap;
    this.width = crispSize(cells, side);
    this.height = crispSize(rows, side);
    this.across = Math.max(this.width, this.height) + this.gap;
    this.above = Math.ceil(above * devicePixelRatio);
    this.below = Math.ceil(below * devicePixelRatio);
    this.down = this.across + this.above + this.below;
    this.indices = new Map(heads.map((head, index) => [headName(head), index]));
  }

  get pitch() {
    return this.across / devicePixelRatio;
  }

  get downPitch() {
    return this.down / devicePixelRatio;
  }

  // The upper left corner of a thumbnail.
  /** @param {number} index */
  corner(index) {
    const line = Math.floor(index / this.columns);
    return [(index % this.columns) * this.across + this.gap / 2, line * this.down + this.above + this.gap / 2];
  }

  // The index of the thumbnail at a point in CSS pixels, or -1.
  /** @param {number} x @param {number} y */
  at(x, y) {
    const column = Math.floor((x * devicePixelRatio) / this.across);
    const line = Math.floor((y * devicePixelRatio) / this.down);
    const index = line * this.columns + column;
    return column >= 0 && column < this.columns && line >= 0 && index < this.heads.length ? index : -1;
  }

  // The index that one of GRID_KEYS leads to from another.
  /** @param {number} index @param {string} key */
  step(index, key) {
    const { columns } = this;
    const end = this.heads.length - 1;
    const first = index - (index % columns);
    const last = Math.min(first + columns - 1, end);
    /** @type {Record<string, number>} */
    const steps = {
      ArrowLeft: Math.max(first, index - 1),
      ArrowRight: Math.min(last, index + 1),
      ArrowUp: index < columns ? index : index - columns,
      ArrowDown: last === end ? index : Math.min(index + columns, end),
      Home: first,
      End: last,
      "Control+Home": 0,
      "Control+End": end,
    };
    return steps[key];
  }
}
