// All heads' pictures, in codes of a byte a cell, and what they are painted with.
const MAGNIFIED = 168; // CSS pixels
const STEPS = 254;

// The places on the colour map of coding.py's codes; of 0, which is masked, there is none. An increase has an even code, a
// decrease of the same size the next odd one.
/** @typedef {"positive" | "signed"} ThumbnailKind */
/** @type {Record<ThumbnailKind, (code: number) => number>} */
const CODE_SHARES = {
  positive: (code) => (code - 1) / STEPS,
  signed: (code) => 0.5 + ((code % 2 ? -1 : 1) * (code >> 1)) / STEPS,
};

class Thumbnails {
  /** @type {Uint32Array} */
  colours;
  /** @type {Uint32Array} */
  hatch;
  /** @type {Uint8Array} */
  codes;
  /** @type {number[]} */
  shape = []; // layers, heads, rows, columns
  masked = false; // some cell is

  /** @param {Bytes} array */
  hold({ values, shape }) {
    this.codes = values;
    this.shape = shape;
    this.masked = values.includes(MASKED);
  }

  /** @param {ThumbnailKind} kind @param {Theme} theme */
  colour(kind, theme) {
    const packed = (kind === "signed" ? theme.diverging : theme.map).map(packedColour);
    this.colours = Uint32Array.from({ length: 256 }, (_, code) => colourAt(packed, CODE_SHARES[kind](code)));
    this.hatch = hatching(theme);
  }

  /**
   * @param {CanvasRenderingContext2D} context @param {HeadIndex} place
   * @param {number} left @param {number} top @param {number} width @param {number} height
   */
  paint(context, [layer, head], left, top, width, height) {
    const { colours, hatch } = this;
    const [, headCount, rows, columns] = this.shape;
    const start = (layer * headCount + head) * rows * columns;
    const codes = this.codes.subarray(start, start + rows * columns);
    paintMatrix(context, { codes, rows, columns, colours, hatch }, left, top, width, height);
  }

  /** @param {HeadIndex} head */
  enlarged(head) {
    const [, , rows, columns] = this.shape;
    const canvas = element("canvas");
    const side = Math.floor(MAGNIFIED * devicePixelRatio);
    canvas.width = crispSize(columns, side);
    canvas.height = crispSize(rows, side);
    canvas.style.width = `${canvas.width / devicePixelRatio}px`;
    this.paint(contextOf(canvas), head, 0, 0, canvas.width, canvas.height);
    return canvas;
  }
}
