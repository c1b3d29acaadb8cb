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

function readTheme(element) {
  const style = getComputedStyle(element);
  const read = (name) => style.getPropertyValue(name).trim();
  const background = resolveColour(read("--st-background-color"));
  const over = (name) => resolveColour(read(name), background);
  const theme = {
    background,
    text: over("--st-text-color"),
    secondary: over("--st-secondary-background-color"),
    border: over("--st-border-color"),
    pin: PIN_COLOURS[Number(isDark(background))],
    font: read("--st-font"),
    codeFont: read("--st-code-font"),
  };
  const faded = mixColours(theme.text, background, 0.35);
  const hidden = mixColours(background, theme.text, 0.22); // a first token that is not shown
  const diverging = divergingMap(background);
  const [onlyA, onlyB] = [diverging[MAP_SIZE / 8], diverging[(7 * MAP_SIZE) / 8]];
  const maps = { map: colourMap(background), diverging, onlyA, onlyB };
  return { ...theme, ...maps, id: JSON.stringify(theme), faded, hidden };
}
