// Streamlit's theme as plain colours; a component that sees another `id` than before draws anew.
const probe = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });

// A CSS colour laid over a background, as [r, g, b].
function resolveColour(css, background = [255, 255, 255]) {
  probe.fillStyle = cssColour(background);
  probe.fillRect(0, 0, 1, 1);
  probe.fillStyle = css;
  probe.fillRect(0, 0, 1, 1);
  return Array.from(probe.getImageData(0, 0, 1, 1).data.slice(0, 3));
}

const COLOURS = ["background", "text", "border"];
const GENERIC = ["monospace", "sans-serif", "serif"];

// Read at every look at a component, and worked out when it is another than before: its colour maps take a millisecond.
function readTheme(element) {
  const style = getComputedStyle(element);
  const read = (name) => style.getPropertyValue(`--st-${name}`).trim();
  const [colours, fonts] = [COLOURS.map((name) => read(`${name}-color`)), [read("font"), read("code-font")]];
  const id = JSON.stringify([colours, fonts]);
  if (!PAGE.themes.has(id)) PAGE.themes.set(id, { id, ...themeOf(colours, fonts) });
  return PAGE.themes.get(id);
}

// A list of fonts up to the first that every browser has. Streamlit names one of its own behind it, which is never shown:
// to wait for that would be to draw everything twice.
function shownFonts(list) {
  const names = list.split(",").map((name) => name.trim());
  const last = names.findIndex((name) => GENERIC.includes(name));
  return names.slice(0, last < 0 ? names.length : last + 1).join(", ");
}

function themeOf(colours, fonts) {
  const [font, codeFont] = fonts.map(shownFonts);
  const background = resolveColour(colours[0]);
  const [text, border] = colours.slice(1).map((colour) => resolveColour(colour, background));
  const faded = mixColours(text, background, 0.35);
  const hidden = mixColours(background, text, 0.32); // a first token that is not shown
  const absent = mixColours(background, text, 0.15); // a token that a run lacks: neither zero nor hidden
  const pin = PIN_COLOURS[Number(isDark(background))];
  const diverging = divergingMap(background);
  const [onlyA, onlyB] = [diverging[MAP_SIZE / 8], diverging[(7 * MAP_SIZE) / 8]];
  const plain = { background, text, border, pin, font, codeFont, faded, hidden, absent };
  return { ...plain, map: colourMap(background), diverging, onlyA, onlyB };
}
