// Heads that the user has just chosen in the grid, shown before Python has heard of them: the browser fetches their arrays
// itself. What cannot be fetched comes with Python's answer.
class FetchedHeads {
  chosen = null; // by the user since Python's last word, or null
  panels = new Map(); // by the head's name
  coming = new Map(); // what has been asked for, by its address

  constructor(view) {
    this.view = view;
  }

  // What Python shows; of another run or other units nothing that was fetched is of use.
  tell({ panels, fetch: address }, arrays) {
    if (address !== this.address) this.forget(() => true);
    if (address !== this.address || sameHeads(panels, this.chosen)) this.chosen = null;
    this.address = address;
    this.told = panels.map((panel, slot) => ({ panel, arrays, prefix: `${slot}.` }));
    this.forget((name) => this.isTold(name));
    if (this.panels.size === 0) this.view.fetched.clear();
  }

  isTold(name) {
    return this.told.some(({ panel }) => headName(panel.heads[0]) === name);
  }

  // Panels with their arrays: those that the user has chosen, as far as they are here, else Python's.
  get shown() {
    if (!this.chosen) return this.told;
    const here = new Map([...this.told.map((each) => [headName(each.panel.heads[0]), each]), ...this.panels]);
    return this.chosen.map((head) => here.get(headName(head))).filter(Boolean);
  }

  // Resolves when all of them are here that can be had, to whether other heads are to be shown than before; null leaves
  // it to Python.
  async choose(heads) {
    const chosen = this.address && heads?.length ? [...heads] : null;
    if (chosen === null && this.chosen === null) return false;
    this.chosen = chosen;
    const names = (chosen ?? []).map(headName);
    this.forget((name) => !names.includes(name));
    const missing = names.flatMap((name, slot) => (this.isTold(name) || this.panels.has(name) ? [] : [chosen[slot]]));
    await Promise.all(missing.map((head) => this.ask(head)));
    return this.chosen === chosen; // else who has chosen since sees to it
  }

  // Asks for a head, once.
  ask(head) {
    const { address, coming } = this;
    const path = `${address}/${head.join("/")}`;
    if (!coming.has(path)) coming.set(path, this.bring(head, address, path).finally(() => coming.delete(path)));
    return coming.get(path);
  }

  async bring(head, address, path) {
    const bytes = await this.view.fetchBytes(path);
    if (bytes === null) return;
    const { header, start } = unpackHeader(bytes);
    if (address !== this.address || !this.chosen?.some((other) => headName(other) === headName(head))) return;
    const arrays = this.view.hold(header.digests, unpackArrays(bytes, header, start));
    this.panels.set(headName(head), { panel: header.panel, arrays, prefix: "" });
  }

  forget(isUnwanted) {
    for (const name of this.panels.keys()) if (isUnwanted(name)) this.panels.delete(name);
  }
}

const sameHeads = (panels, heads) =>
  JSON.stringify(panels.map((panel) => panel.heads[0])) === JSON.stringify(heads);
