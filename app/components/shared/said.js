// What the scripts say and draw as Python does: mount.py puts it here.
/**
 * @typedef {object} Said
 * @property {Record<Show, string>} titles of what cells hold, with the unit
 * @property {Record<Show, Record<Sink, string>>} firstToken what became of it; nothing where it is kept
 * @property {Record<Root, { positive: number[], signed: number[] }>} ticks shares of a colour bar's end that are labelled
 * @property {Record<"light" | "dark", Record<"sequential" | "less" | "more", Triple[]>>} anchors of the colour maps
 */
/** @type {Said} */
const SAID = JSON.parse("said.py");
