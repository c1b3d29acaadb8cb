// A labelled colour bar: `ticks` are [share of the bar, label] pairs; `masked` adds a swatch of the hatching.
const WEIGHT_TICKS = { sqrt: [0, 0.01, 0.1, 0.25, 0.5, 1], linear: [0, 0.25, 0.5, 0.75, 1] };

function drawLegend(legend, theme, { title, ticks, masked }) {
  const stops = Array.from({ length: 33 }, (_, index) => cssColour(colourAt(theme.map, index / 32)));
  const bar = element("div", "bar");
  bar.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
  const scale = element("div", "scale");
  scale.append(bar);
  for (const [share, label] of ticks) {
    const tick = element("span", "tick", label);
    tick.style.left = `${100 * share}%`;
    scale.append(tick);
  }
  legend.replaceChildren(element("span", "title", title), scale);
  if (masked) legend.append(element("span", "swatch"), element("span", "title", "masked"));
}

function drawWeightLegend(legend, theme, scale, masked) {
  const ticks = WEIGHT_TICKS[scale].map((weight) => [SCALES[scale](weight), String(weight)]);
  drawLegend(legend, theme, { title: "attention weight", ticks, masked });
}
