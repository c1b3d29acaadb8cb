// The colours of coding.py's codes: of 0, which is masked, there is none. `share` is a code's place on the colour map.
/** @typedef {"positive" | "signed"} ThumbnailKind */
/**
 * @typedef {{ share: (code: number) => number, map: (theme: Theme) => Rgb[],
 *   ticks: [place: number, share: number][] }} ThumbnailCodes
 */

const STEPS = 254;
/** @type {(share: number) => number} */
const signedRoot = (share) => Math.sign(share) * Math.sqrt(Math.abs(share));

/** @type {Record<ThumbnailKind, ThumbnailCodes>} */
const THUMBNAIL_KINDS = {
  positive: {
    share: (code) => (code - 1) / STEPS,
    map: (theme) => theme.map,
    ticks: [0, 0.01, 0.1, 0.25, 0.5, 1].map((share) => [Math.sqrt(share), share]),
  },
  // An increase has an even code, a decrease of the same size the next odd one.
  signed: {
    share: (code) => 0.5 + ((code % 2 ? -1 : 1) * (code >> 1)) / STEPS,
    map: (theme) => theme.diverging,
    ticks: [-1, -0.25, 0, 0.25, 1].map((share) => [0.5 + signedRoot(share) / 2, share]),
  },
};

/** @type {(codes: ThumbnailCodes, theme: Theme) => Uint32Array} */
const thumbnailColours = ({ share, map }, theme) => {
  const packed = map(theme).map(packedColour);
  return Uint32Array.from({ length: 256 }, (_, code) => colourAt(packed, share(code)));
};

/**
 * @param {HTMLElement} legend @param {Theme} theme
 * @param {{ kind: ThumbnailKind, title: string, limit: number, lacks: string | false }} look
 */
function drawThumbnailLegend(legend, theme, { kind, title, limit, lacks }) {
  const { map, ticks } = THUMBNAIL_KINDS[kind];
  const sign = (/** @type {number} */ share) => (kind === "signed" && share > 0 ? "+" : "");
  const text = (/** @type {number} */ share) => `${sign(share)}${Number((share * limit).toPrecision(2))}`.replace("-", "−");
  /** @type {Tick[]} */
  const labelled = ticks.map(([place, share]) => [place, text(share)]);
  drawLegend(legend, theme, { title, ticks: labelled, lacks, map: map(theme) });
}
