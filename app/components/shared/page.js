// What outlives one mount, shared by all components of the page: their scripts, each one's value and arrays, the views
// that were left, the groups that hear each other, the themes that were read, and the font that has arrived.
const PAGE = (globalThis[Symbol.for("headlight")] ??= {
  scripts: new Map(),
  values: new Map(),
  arrays: new Map(),
  resting: new Map(),
  groups: new Map(),
  themes: new Map(),
  theme: null, // the last one
  font: null,
});
