// Heads that the user has just chosen in the grid, shown before Python has heard of them: the browser fetches their arrays
// itself. What cannot be fetched comes with Python's answer.
/** @typedef {{ panel: PanelProps, arrays: Arrays, prefix: string }} HeldPanel the names of its arrays begin with the prefix */

class FetchedHeads {
  /** @type {HeadIndex[] | null} */
  chosen = null; // by the user since Python's last word, or null
  /** @type {HeldPanel[]} */
  sent = []; // by Python
  /** @type {Map<string, HeldPanel>} */
  panels = new Map(); // by the head's name
  /** @type {Map<string, Promise<void>>} */
  coming = new Map(); // what has been asked for, by its address
  /** @type {string | null} */
  address = null;

  /** @param {View} view */
  constructor(view) {
    this.view = view;
  }

  // What Python shows; of another run or other units nothing that was fetched is of use.
  /** @param {HeadsProps} props @param {Arrays} arrays */
  tell({ panels, fetch: address }, arrays) {
    if (address !== this.address) this.forget(() => true);
    if (address !== this.address || sameHeads(panels, this.chosen)) this.chosen = null;
    this.address = address;
    this.sent = panels.map((panel, slot) => ({ panel, arrays, prefix: `${slot}.` }));
    this.forget((name) => this.isSent(name));
    if (this.panels.size === 0) this.view.fetched.clear();
  }

  /** @param {string} name */
  isSent(name) {
    return this.sent.some(({ panel }) => headName(panel.heads[0]) === name);
  }

  // Panels with their arrays: those that the user has chosen, as far as they are here, else Python's.
  /** @returns {HeldPanel[]} */
  get current() {
    if (!this.chosen) return this.sent;
    const here = new Map(this.sent.map((each) => [headName(each.panel.heads[0]), each]));
    for (const [name, panel] of this.panels) here.set(name, panel);
    return this.chosen.flatMap((head) => here.get(headName(head)) ?? []);
  }

  // Resolves when all of them are here that can be had, to whether other heads are to be shown than before; null leaves
  // it to Python.
  /** @param {HeadIndex[] | null} heads */
  async choose(heads) {
    const chosen = this.address && heads?.length ? [...heads] : null;
    if (chosen === null && this.chosen === null) return false;
    this.chosen = chosen;
    const names = (chosen ?? []).map(headName);
    this.forget((name) => !names.includes(name));
    const missing = (chosen ?? []).filter((head) => !this.isSent(headName(head)) && !this.panels.has(headName(head)));
    await Promise.all(missing.map((head) => this.ask(head)));
    return this.chosen === chosen; // else who has chosen since sees to it
  }

  // Asks for a head, once.
  /** @param {HeadIndex} head */
  ask(head) {
    const { address, coming } = this;
    const path = `${address}/${head.join("/")}`;
    if (!coming.has(path)) coming.set(path, this.bring(head, address, path).finally(() => coming.delete(path)));
    return coming.get(path);
  }

  /** @param {HeadIndex} head @param {string | null} address @param {string} path */
  async bring(head, address, path) {
    const bytes = await this.view.fetchBytes(path);
    if (bytes === null) return;
    const { header, start } = unpackHeader(bytes);
    if (address !== this.address || !this.chosen?.some((other) => headName(other) === headName(head))) return;
    const arrays = this.view.hold(header.digests, unpackArrays(bytes, header, start));
    this.panels.set(headName(head), { panel: header.panel, arrays, prefix: "" });
  }

  /** @param {(name: string) => boolean} isUnwanted */
  forget(isUnwanted) {
    for (const name of this.panels.keys()) if (isUnwanted(name)) this.panels.delete(name);
  }
}

/** @type {(panels: PanelProps[], heads: HeadIndex[] | null) => boolean} */
const sameHeads = (panels, heads) =>
  JSON.stringify(panels.map((panel) => panel.heads[0])) === JSON.stringify(heads);
