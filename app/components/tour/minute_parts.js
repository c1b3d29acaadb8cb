// Sentences of the first minute, and the parts of the page that it shows.
const HOVERS = matchMedia("(hover: hover)"); // with a mouse, and so a keyboard
const pointAt = () => (HOVERS.matches ? "Point at" : "Tap");

/** @type {(label: string) => string} */
const bare = (label) => label.replace("␣", "");

/** @type {(label: string, place?: number) => string} */
const word = (label, place = 1) => quotedLabel(bare(label), place);

/** @type {(share: number) => string} */
const percentOf = (share) => (share >= 0.0095 ? `${Math.round(share * 100)}%` : `${(share * 100).toFixed(1)}%`);

// A sentence whose every other part, from the second on, is strong.
/** @param {...string} parts */
function say(...parts) {
  const line = element("p");
  parts.forEach((part, at) => line.append(at % 2 ? element("strong", "", part) : part));
  return line;
}

/** @param {string} text */
const muted = (text) => element("p", "muted", text);

// Within the shadow trees of the components on the page.
/** @param {string} part @param {string} selector @returns {HTMLElement[]} */
function inside(part, selector) {
  const hosts = [...document.querySelectorAll(`.st-key-headlight-${part} *`)].filter(({ shadowRoot }) => shadowRoot);
  return hosts.flatMap(({ shadowRoot }) => [.../** @type {ShadowRoot} */ (shadowRoot).querySelectorAll(selector)]).filter((each) => each instanceof HTMLElement);
}

const stripParts = () => ({
  prediction: inside("strip", ".prediction")[0],
  chips: inside("strip", ".chip"),
});

/** @type {RectOf} */
const predicted = () => stripParts().prediction?.getBoundingClientRect();

// A part of the page by its key; of the chosen heads the first alone.
/** @type {(part: string) => DOMRect | undefined} */
const rectOfPart = (part) => (part === "panel" ? inside("heads", ".panel")[0] : document.querySelector(`.st-key-headlight-${part}`))?.getBoundingClientRect();

// What the model guesses instead, under its first guess.
/** @param {Stage} stage @param {Guess[]} guesses */
function coverWithGuesses(stage, guesses) {
  const rectOf = () => {
    const rect = predicted();
    return rect && new DOMRect(rect.left, rect.bottom + 4, 0, 20 * guesses.length);
  };
  const cover = stage.cover(rectOf, "others");
  cover.append(...guesses.map(([label, , shown]) => element("div", "", `${bare(label)} ${shown}`)));
}
