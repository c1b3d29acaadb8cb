// The theme as plain colours; a component that sees another `id` than before draws anew.
/**
 * @typedef {object} Theme
 * @property {string} id
 * @property {Record<string, string>} tokens all colours of tokens.css, by name
 * @property {Rgb} background
 * @property {Rgb} text
 * @property {Rgb} border
 * @property {Rgb} pin
 * @property {Rgb} faded muted text
 * @property {Rgb} hidden a first token that is not shown
 * @property {Rgb} absent a token that a run lacks: neither zero nor hidden
 * @property {Rgb} onlyA
 * @property {Rgb} onlyB
 * @property {Rgb[]} map
 * @property {Rgb[]} diverging
 * @property {Record<string, number>} sizes of fonts
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

// Read at every look at a component, and worked out once a theme: its colour maps take a millisecond. Which of the two it
// is, its ground says; one that is about to leave the page has none.
/** @param {Element} element */
function readTheme(element) {
  const ground = getComputedStyle(element).getPropertyValue("--st-background-color").trim();
  if (!ground && PAGE.theme) return PAGE.theme;
  const id = isDark(resolveColour(ground)) ? "dark" : "light";
  if (!PAGE.themes.has(id)) PAGE.themes.set(id, themeOf(id));
  return /** @type {Theme} */ (PAGE.themes.get(id));
}

/** @type {(id: "light" | "dark") => Theme} */
function themeOf(id) {
  const tokens = CONSTANTS.colours[id];
  const [background, text, border, pin, faded] = ["bg", "text", "line", "pin", "muted"].map((name) =>
    resolveColour(tokens[name]),
  );
  const hidden = mixColours(background, text, 0.32);
  const absent = mixColours(background, text, 0.15);
  const diverging = divergingMap(background);
  const [onlyA, onlyB] = [diverging[MAP_SIZE / 8], diverging[(7 * MAP_SIZE) / 8]];
  const plain = { id, tokens, background, text, border, pin, faded, hidden, absent, ...CONSTANTS.fonts };
  return { ...plain, map: colourMap(background), diverging, onlyA, onlyB };
}
