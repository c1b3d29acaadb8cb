// Streamlit's theme as plain colours; a component that sees another `id` than before draws anew.
/**
 * @typedef {object} Theme
 * @property {string} id
 * @property {Rgb} background
 * @property {Rgb} text
 * @property {Rgb} border
 * @property {Rgb} pin
 * @property {Rgb} faded
 * @property {Rgb} hidden a first token that is not shown
 * @property {Rgb} absent a token that a run lacks: neither zero nor hidden
 * @property {Rgb} onlyA
 * @property {Rgb} onlyB
 * @property {Rgb[]} map
 * @property {Rgb[]} diverging
 * @property {string} font
 * @property {string} codeFont
 */

const probe = /** @type {OffscreenCanvasRenderingContext2D} */ (
  new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true })
);

// A CSS colour laid over a background, as [r, g, b].
/** @type {(css: string, background?: Rgb) => Rgb} */
function resolveColour(css, background = WHITE) {
  probe.fillStyle = cssColour(background);
  probe.fillRect(0, 0, 1, 1);
  probe.fillStyle = css;
  probe.fillRect(0, 0, 1, 1);
  return /** @type {Rgb} */ (Array.from(probe.getImageData(0, 0, 1, 1).data.slice(0, 3)));
}

/** @type {Rgb} */
const WHITE = [255, 255, 255];
const COLOURS = ["background", "text", "border"];
const GENERIC = ["monospace", "sans-serif", "serif"];

// Read at every look at a component, and worked out when it is another than before: its colour maps take a millisecond.
/** @type {(element: Element) => Theme} */
function readTheme(element) {
  const style = getComputedStyle(element);
  const read = (/** @type {string} */ name) => style.getPropertyValue(`--st-${name}`).trim();
  const [colours, fonts] = [COLOURS.map((name) => read(`${name}-color`)), [read("font"), read("code-font")]];
  const id = JSON.stringify([colours, fonts]);
  if (!PAGE.themes.has(id)) PAGE.themes.set(id, { id, ...themeOf(colours, fonts) });
  return PAGE.themes.get(id);
}

// A list of fonts up to the first that every browser has. Streamlit names one of its own behind it, which is never shown:
// to wait for that would be to draw everything twice.
/** @param {string} list */
function shownFonts(list) {
  const names = list.split(",").map((name) => name.trim());
  const last = names.findIndex((name) => GENERIC.includes(name));
  return names.slice(0, last < 0 ? names.length : last + 1).join(", ");
}

/** @type {(colours: string[], fonts: string[]) => Omit<Theme, "id">} */
function themeOf(colours, fonts) {
  const [font, codeFont] = fonts.map(shownFonts);
  const background = resolveColour(colours[0]);
  const [text, border] = colours.slice(1).map((colour) => resolveColour(colour, background));
  const faded = mixColours(text, background, 0.35);
  const hidden = mixColours(background, text, 0.32);
  const absent = mixColours(background, text, 0.15);
  const pin = PIN_COLOURS[Number(isDark(background))];
  const diverging = divergingMap(background);
  const [onlyA, onlyB] = [diverging[MAP_SIZE / 8], diverging[(7 * MAP_SIZE) / 8]];
  const plain = { background, text, border, pin, font, codeFont, faded, hidden, absent };
  return { ...plain, map: colourMap(background), diverging, onlyA, onlyB };
}
