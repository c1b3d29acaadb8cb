// Texts and colours that the scripts share with Python: mount.py inserts them here.
/**
 * @typedef {object} Constants
 * @property {Record<Show, string>} titles of the cells' measures, with unit
 * @property {Record<Unit, Record<Show, Record<Sink, string>>>} sinkNotes how sinks are treated; empty where they are kept
 * @property {Record<Root, { positive: number[], signed: number[] }>} ticks shares of a colour bar's end that are labelled
 * @property {Record<"light" | "dark", Record<string, string>>} colours of tokens.css
 * @property {{ font: string, codeFont: string, sizes: Record<string, number> }} fonts of canvases, and pixels by the names of tokens.css
 * @property {Record<"light" | "dark", Record<"sequential" | "less" | "more", Triple[]>>} anchors of the colour maps
 */
/** @type {Constants} */
const CONSTANTS = JSON.parse("constants.py");
