// Elements, numbers and axis labels. Text from a model or a user only ever becomes `textContent` or canvas text.
function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

// Makes these an element's children. Those that are there already stay in their places, undrawn anew, and with them the
// keyboard's focus and what is half typed.
function setChildren(parent, children) {
  const kept = new Set(children);
  for (const child of [...parent.children]) if (!kept.has(child)) child.remove();
  children.forEach((child, place) => {
    if (parent.children[place] !== child) parent.insertBefore(child, parent.children[place] ?? null);
  });
}

const upTo = (count) => Array.from({ length: count }, (_, index) => index);
const headName = ([layer, head]) => `L${layer}H${head}`;
const withMinus = (text) => text.replaceAll("-", "−");
const significant = (value) => (value === 0 ? "0" : withMinus(value.toPrecision(4)));

// How many positions lie between two labels so that each has `room` pixels.
function labelStep(pitch, room) {
  for (let decade = 1; ; decade *= 10) {
    const step = [decade, 2 * decade, 5 * decade].find((step) => step * pitch >= room);
    if (step) return step;
  }
}

function fitText(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  const letters = Array.from(text);
  while (letters.length > 1 && context.measureText(`${letters.join("")}…`).width > width) letters.pop();
  return `${letters.join("")}…`;
}

function slotBadge(slot) {
  const badge = element("span", "badge", String(slot + 1));
  const colour = SLOT_COLOURS[slot % SLOT_COLOURS.length];
  badge.style.background = colour;
  badge.style.color = inkOn(resolveColour(colour));
  return badge;
}

// The tokens along each side of a matrix: other ones along the columns if there are such.
const axesOf = ({ labels, presence, columns }) => ({ query: { labels, presence }, key: columns ?? { labels, presence } });

const pinFits = ({ queries, keys }, { query, key }) =>
  queries.every((place) => place < query.labels.length) && keys.every((place) => place < key.labels.length);

// A tooltip's row for one token of the axis.
function describePlace(side, place, { labels, presence }) {
  const note = PRESENCE_NAMES[presence[place]];
  return [`${side} ${place}`, note ? `${labels[place]} (${note})` : labels[place]];
}
