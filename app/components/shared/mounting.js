// What Streamlit calls, and what comes with it: a component's view is made, found again or given its data.
/** @type {WeakMap<HTMLElement, View>} */
const VIEWS = new WeakMap();

/**
 * What `mount` in mount.py sends, and the value that the component has reported.
 * @typedef {object} Header
 * @property {string} key
 * @property {string} group
 * @property {string} content
 * @property {number} epoch
 * @property {any} props
 * @property {Record<string, string>} digests of the arrays, by name
 * @property {string} script
 * @property {boolean} [confirms] whether it says that it has got its script
 * @property {any} value
 * @property {Described[]} arrays
 */
/** @typedef {(path: string) => Promise<Uint8Array | null>} FetchBytes */
/** @typedef {(name: string, value: any) => void} Tell */
/**
 * @typedef {{ parentElement: HTMLElement, data: Uint8Array, setStateValue: Tell, setTriggerValue: Tell,
 *   fetchBytes: FetchBytes }} Mounting
 */
/**
 * One that shows what is pointed at or half done has a `leave`: the pointer and the keys go elsewhere.
 * @typedef {object} Component
 * @property {Listeners} [listeners]
 * @property {(props: any, arrays: any) => void} update
 * @property {(value: any) => void} [setValue]
 * @property {(theme: Theme, width: number) => void} [draw]
 * @property {() => void} [leave]
 * @property {() => void} [nameHeads] when there is a menu of heads, or none any more
 */
/** @typedef {new (view: View) => Component} ComponentClass */

/** @param {Mounting} mounting @param {ComponentClass} Component */
function mountView({ parentElement, data, setStateValue, setTriggerValue, fetchBytes }, Component) {
  const { header, start } = unpackHeader(data);
  const there = VIEWS.get(parentElement);
  const view = there ?? viewOf(header, Component);
  VIEWS.set(parentElement, view);
  if (!there) view.join(parentElement, header.group);
  Object.assign(view, { setStateValue, setTriggerValue, fetchBytes });
  view.receive(header, () => unpackArrays(data, header, start));
  const call = ++view.calls;
  // Streamlit may clean up after an earlier call when a later one has already run, or an earlier one may come last: what
  // is still on the page stays.
  return () => {
    if (view.calls !== call || parentElement.isConnected) return;
    view.leave();
    VIEWS.delete(parentElement);
    PAGE.resting.set(view.key, view);
  };
}

// The one that was put by, unless the component's script is another since, or a new one.
/** @param {Header} header @param {ComponentClass} Component @returns {View} */
function viewOf({ key }, Component) {
  const rested = PAGE.resting.get(key);
  PAGE.resting.delete(key);
  return rested?.component instanceof Component ? rested : new View(Component);
}

// All of a component's arrays by name: those it had before or has fetched, which stay the same objects as long as their
// contents do, and those just sent; null if one of them is lost.
/** @type {(header: Header, sent: Arrays, fetched: Map<string, Packed>) => Arrays | null} */
function heldArrays({ key, digests }, sent, fetched) {
  const cached = new Map([...fetched, ...(PAGE.arrays.get(key) ?? [])]);
  for (const [name, digest] of Object.entries(digests)) if (!cached.has(digest) && name in sent) cached.set(digest, sent[name]);
  /** @type {Arrays} */
  const arrays = {};
  for (const [name, digest] of Object.entries(digests)) {
    const array = cached.get(digest);
    if (array === undefined) return null;
    arrays[name] = array;
  }
  PAGE.arrays.set(key, new Map(Object.entries(digests).map(([name, digest]) => [digest, arrays[name]])));
  return arrays;
}
