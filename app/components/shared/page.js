// What outlives one mount, shared by all components of the page: their scripts, each one's value and arrays, the views
// that were left, the groups that hear each other, the themes that were read, and whether the fonts have arrived.
/**
 * @typedef {object} Page
 * @property {Map<string, Promise<any>>} scripts by their digests
 * @property {Map<string, { epoch: number | null, value: any }>} values by the components' keys, as are the next two
 * @property {Map<string, Map<string, Packed>>} arrays
 * @property {Map<string, any>} resting
 * @property {Map<string, { members: Set<Record<string, (value: any) => unknown>>, latest: Map<string, any> }>} groups
 * @property {Map<string, any>} themes
 * @property {any} theme the last one
 * @property {boolean} hasFonts
 */
/** @type {Page} */
const PAGE = (/** @type {any} */ (globalThis)[Symbol.for("headlight")] ??= {
  scripts: new Map(),
  values: new Map(),
  arrays: new Map(),
  resting: new Map(),
  groups: new Map(),
  themes: new Map(),
  theme: null,
  hasFonts: false,
});
const ASK_AGAIN = 3000; // milliseconds

// Says that what should have come with a message is not there, until what is returned is called: where runs follow each
// other at once, the server may not hear it.
/** @param {(name: string, value: any) => void} setTriggerValue */
function sayLost(setTriggerValue) {
  setTriggerValue("lost", true);
  const again = setInterval(() => setTriggerValue("lost", true), ASK_AGAIN);
  return () => clearInterval(again);
}
