// What the bytes of coding.py mean. `code` puts them in matrix.js's order: 0 is masked, and the larger the stronger,
// because a pixel over many cells shows the largest. `share` is a code's place on the colour map.
const NO_CHANGE = 127;
const BYTE_MASKED = 255;
const signedRoot = (share) => Math.sign(share) * Math.sqrt(Math.abs(share));

const THUMBNAIL_KINDS = {
  positive: {
    code: (byte) => (byte + 1) & 255,
    share: (code) => (code - 1) / 254,
    map: (theme) => theme.map,
    ticks: [0, 0.01, 0.1, 0.25, 0.5, 1].map((share) => [Math.sqrt(share), share]),
  },
  // A change is coded by its size; of two equal ones, as even number if it is an increase.
  signed: {
    code(byte) {
      if (byte === BYTE_MASKED) return MASKED;
      const size = Math.abs(byte - NO_CHANGE);
      return size === 0 ? 1 : 2 * size + (byte < NO_CHANGE ? 1 : 0);
    },
    share: (code) => 0.5 + ((code % 2 ? -1 : 1) * (code >> 1)) / (2 * NO_CHANGE),
    map: (theme) => theme.diverging,
    ticks: [-1, -0.25, 0, 0.25, 1].map((share) => [0.5 + signedRoot(share) / 2, share]),
  },
};

const thumbnailColours = ({ share, map }, theme) => {
  const packed = map(theme).map(packedColour);
  return Uint32Array.from({ length: 256 }, (_, code) => colourAt(packed, share(code)));
};

function drawThumbnailLegend(legend, theme, { kind, title, limit, lacks }) {
  const { map, ticks } = THUMBNAIL_KINDS[kind];
  const sign = (share) => (kind === "signed" && share > 0 ? "+" : "");
  const text = (share) => `${sign(share)}${Number((share * limit).toPrecision(2))}`.replace("-", "−");
  const labelled = ticks.map(([place, share]) => [place, text(share)]);
  drawLegend(legend, theme, { title, ticks: labelled, lacks, map: map(theme) });
}
