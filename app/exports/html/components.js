// What mounts each component of the page, by the name of its folder.
/** @typedef {Pick<Mounting, "parentElement" | "data" | "setStateValue">} InFile a file fetches nothing and asks for nothing */
/** @type {Record<string, (mounting: InFile) => void>} */
const COMPONENTS = {};
