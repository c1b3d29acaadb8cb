// All that Streamlit has of a component: the script itself comes with the component's data, once, as its arrays do.
// Streamlit would send it with every message and read it again each time, which took the browser 3 ms a component.
//
// Here alone something is asked of the server: a page in a file, which has no server, is without this script.
/** @type {(path: string) => Promise<Uint8Array | null>} */
const fetchBytes = async (path) => {
  const answer = await fetch(`fetch/${path}`).catch(() => null);
  return answer?.ok ? new Uint8Array(await answer.arrayBuffer()) : null;
};

/** @type {WeakMap<HTMLElement, () => void>} */
const ASKING = new WeakMap(); // what ends the asking for a script that is lost, by the component's element

// The module of a script that was compressed by zlib.
/** @param {Uint8Array<ArrayBuffer>} packed */
async function importPacked(packed) {
  const script = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const typed = await new Response(script, { headers: { "content-type": "text/javascript" } }).blob();
  return import(URL.createObjectURL(typed));
}

/** @typedef {(name: string, value: any) => void} Say */
/** @param {{ parentElement: HTMLElement, data: Uint8Array, setStateValue: Say, setTriggerValue: Say }} mounting */
export default async function ({ parentElement, data, setStateValue, setTriggerValue, ...rest }) {
  const { header, start } = unpackHeader(data);
  ASKING.get(parentElement)?.();
  if (!PAGE.scripts.has(header.script)) {
    const { script } = unpackArrays(data, header, start);
    if (!script) {
      ASKING.set(parentElement, sayLost(setTriggerValue));
      return ASKING.get(parentElement);
    }
    PAGE.scripts.set(header.script, importPacked(/** @type {Uint8Array<ArrayBuffer>} */ (script.values)));
  }
  const { default: mount, style } = await PAGE.scripts.get(header.script);
  if (header.confirms) setStateValue("script", header.script); // which a form keeps until it is submitted
  const shadow = /** @type {ShadowRoot} */ (parentElement.getRootNode());
  if (!shadow.adoptedStyleSheets.includes(style)) shadow.adoptedStyleSheets = [style];
  return mount({ parentElement, data, setStateValue, setTriggerValue, fetchBytes, ...rest });
}
