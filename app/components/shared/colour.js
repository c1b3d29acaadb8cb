// Colour maps that start at the page's background, built in OKLab.
// Source: Ottosson 2020, https://bottosson.github.io/posts/oklab/
//
// A map is a path through OKLab from the background over a few anchors, sampled at equal distances along the path:
// equal steps of the value are equally large steps to the eye. Lightness only falls (light theme) or only rises (dark
// theme), so the order of values survives every kind of colour blindness and a grey print. Signed values have two such
// paths, blue for more and orange for less, the two hues that every kind of colour blindness tells apart.
const MAP_SIZE = 256;
/** @typedef {[number, number, number]} Triple */
/** @typedef {Triple} Rgb the bytes of a colour */
// Of a chosen head, from 1 to 6 and on; its number always stands beside it.
const SLOTS = 6;
/** @type {(slot: number) => string} */
const slotColour = (slot) => CONSTANTS.colours.light[`slot-${(slot % SLOTS) + 1}`];

/** @type {(byte: number) => number} */
const toLinear = (byte) => (byte <= 10 ? byte / 3294.6 : ((byte / 255 + 0.055) / 1.055) ** 2.4);
/** @type {(linear: number) => number} */
const toByte = (linear) => {
  const clipped = clamp(linear, 0, 1);
  return Math.round(255 * (clipped <= 0.0031308 ? 12.92 * clipped : 1.055 * clipped ** (1 / 2.4) - 0.055));
};

/** @type {(rgb: Rgb) => Triple} */
function oklabFromRgb(rgb) {
  const [r, g, b] = rgb.map(toLinear);
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

/** @type {(oklab: Triple) => Rgb} */
function rgbFromOklab([L, a, b]) {
  const l = (L + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (L - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (L - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  return /** @type {Rgb} */ (linear.map(toByte));
}

/** @type {(oklch: Triple) => Triple} */
const oklabFromOklch = ([L, chroma, hue]) => {
  const angle = (hue * Math.PI) / 180;
  return [L, chroma * Math.cos(angle), chroma * Math.sin(angle)];
};

/** @type {(rgb: Rgb) => boolean} */
const isDark = (rgb) => oklabFromRgb(rgb)[0] < 0.5;
/** @type {(rgb: Rgb, alpha?: number) => string} */
const cssColour = ([r, g, b], alpha = 1) => `rgb(${r} ${g} ${b} / ${alpha})`;
/** @type {(rgb: Rgb) => number} */
const packedColour = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0; // ImageData's order of bytes
/** @type {(one: Rgb, other: Rgb, share: number) => Rgb} */
const mixColours = (one, other, share) =>
  /** @type {Rgb} */ (one.map((value, index) => Math.round(value + share * (other[index] - value))));

// In OKLCH: lightness, chroma, hue in degrees.
/** @type {(background: Rgb) => Record<"sequential" | "less" | "more", Triple[]>} */
const anchorsOn = (background) => CONSTANTS.anchors[isDark(background) ? "dark" : "light"];

// MAP_SIZE colours as [r, g, b], from the background to the far end.
/** @type {(background: Rgb) => Rgb[]} */
function colourMap(background) {
  return colourPath(background, anchorsOn(background).sequential, MAP_SIZE);
}

// MAP_SIZE colours from the least (orange) over the background, which both halves begin with, to the most (blue).
/** @type {(background: Rgb) => Rgb[]} */
function divergingMap(background) {
  const { less, more } = anchorsOn(background);
  const arm = (/** @type {Triple[]} */ anchors) => colourPath(background, anchors, MAP_SIZE / 2);
  return [...arm(less).reverse(), ...arm(more)];
}

/** @type {(background: Rgb, anchors: Triple[], size: number) => Rgb[]} */
function colourPath(background, anchors, size) {
  const path = [oklabFromRgb(background), ...anchors.map(oklabFromOklch)];
  /** @type {(one: Triple, other: Triple) => number} */
  const distance = (one, other) => Math.hypot(...one.map((value, axis) => value - other[axis]));
  const lengths = path.slice(1).map((point, index) => distance(point, path[index]));
  const total = lengths.reduce((sum, length) => sum + length, 0);
  return Array.from({ length: size }, (_, index) => {
    let rest = (total * index) / (size - 1);
    let leg = 0;
    while (leg < lengths.length - 1 && rest > lengths[leg]) rest -= lengths[leg++];
    const share = rest / lengths[leg];
    const point = path[leg].map((value, axis) => value + share * (path[leg + 1][axis] - value));
    return rgbFromOklab(/** @type {Triple} */ (point));
  });
}

// The colour at a share of the map, or of its packed colours; what is not a number gets the background.
/** @type {<Colour extends Rgb | number>(map: Colour[], share: number) => Colour} */
const colourAt = (map, share) => map[Math.round(clamp(share, 0, 1) * (MAP_SIZE - 1)) || 0];
const INK_SWITCH = 0.58; // the OKLab lightness at which white and black ink have the same contrast
/** @type {(rgb: Rgb) => string} */
const inkOn = (rgb) => CONSTANTS.colours.light[oklabFromRgb(rgb)[0] < INK_SWITCH ? "on-dark" : "on-light"];
