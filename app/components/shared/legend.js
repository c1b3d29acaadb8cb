/** @typedef {[share: number, label: string]} Tick */

const NARROWEST_BAR = 200; // CSS pixels, on a phone
const TICK_LETTER = 6.5;

// Those that do not touch the ends' labels, which may begin and end with the bar.
/** @param {Tick[]} ticks */
function ticksWithRoom(ticks) {
  const width = (/** @type {Tick} */ [, label]) => TICK_LETTER * label.length;
  const ends = [ticks[0], ticks[ticks.length - 1]];
  return ticks.filter(
    (tick) =>
      ends.includes(tick) ||
      ends.every((end) => NARROWEST_BAR * Math.abs(tick[0] - end[0]) - width(tick) / 2 > width(end) - Math.min(width(end) / 2, 10) + 2),
  );
}

// A labelled colour bar: `ticks` are [share of the bar, label] pairs.
/** @param {{ title: string, ticks: Tick[], map: Rgb[] }} look */
function legendBar({ title, ticks, map }) {
  const stops = upTo(33).map((index) => cssColour(colourAt(map, index / 32)));
  const bar = element("div", "bar");
  bar.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
  const scale = element("div", "scale");
  scale.setAttribute("role", "img");
  scale.ariaLabel = `colour scale${title && ` of ${title}`}, from ${ticks[0][1]} to ${ticks.at(-1)?.[1]}`;
  scale.append(bar);
  for (const [share, label] of ticksWithRoom(ticks)) {
    const tick = element("span", "tick", label);
    tick.style.left = `${100 * share}%`;
    scale.append(tick);
  }
  return legendEntry(element("span", "title", title), scale);
}

// A patch of what cells without a value, or a token's place on an axis, look like.
/** @param {string} name */
function legendSwatch(name, kind = name) {
  return legendEntry(element("span", `swatch ${kind}`), element("span", "title", name));
}

// What stays together when a legend takes two lines.
/** @param {...HTMLElement} parts */
function legendEntry(...parts) {
  const entry = element("span", "entry");
  entry.append(...parts);
  return entry;
}

/** @typedef {{ scale: ColourScale, quantity: string, title: string }} ScaleBar the bar's scale, of what it is, and its text */

// Those of a component's bars that no other one of its group has: a measure has one bar a page.
/** @param {Link} link @param {ScaleBar[]} bars @returns {ScaleBar[]} */
function ownBars(link, bars) {
  const others = /** @type {ScaleBar[]} */ (link.send("bars", null).filter(Boolean).flat());
  const isElsewhere = (/** @type {ScaleBar} */ bar) =>
    others.some(({ scale, quantity }) => quantity === bar.quantity && scale.isLike(bar.scale));
  return bars.filter((bar) => !isElsewhere(bar));
}

/** @type {Partial<Record<Presence, string>>} */
const PRESENCE_NAMES = { a: "only in A", b: "only in B", changed: "other token in B" };

// `bars` are legendBars; after them comes what else the pictures hold.
/**
 * @param {HTMLElement} legend
 * @param {{ bars: HTMLElement[], show: Show, sink: Sink, unit?: Unit, presence: Presence[], masked: boolean }} look
 */
function drawMeasureLegend(legend, { bars, show, sink, unit = "token", presence, masked }) {
  const missing = presence.includes("a") || presence.includes("b");
  const kinds = Object.entries(PRESENCE_NAMES).filter(([kind]) => presence.some((each) => each === kind));
  const note = CONSTANTS.sinkNotes[unit][show][sink];
  legend.replaceChildren(
    ...bars,
    ...(masked ? [legendSwatch("masked")] : []),
    ...(missing ? [legendSwatch("absent")] : []),
    ...(note ? [legendSwatch(note, "hidden")] : []),
    ...kinds.map(([kind, name]) => legendSwatch(name, `presence ${kind}`)),
  );
}
