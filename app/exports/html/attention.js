// The grid of all heads; a click opens a head. The file has the patterns of all heads, or of some where all are too many;
// those of the open heads are packed as Python packs them for the page.
/** @typedef {"show" | "scale" | "sink"} Chosen */
/** @type {Record<Chosen, { label: string, options: Record<string, string> }>} */
const CHOICES = JSON.parse("parts/grid.py"); // inserted by document.py

/** @param {Part[]} parts */
function start([grid, line, patterns]) {
  const held = new HeldHeads(patterns.data, line.data);
  const note = element("p", "note");
  const strip = new Place(line.component, "The prompt");
  const large = new Place(patterns.component, "Chosen heads");
  const small = new Place(grid.component, "All heads", (value) => choose(value));
  /** @type {HeadIndex[]} */
  let chosen = unpackHeader(grid.data).header.value;

  /** @param {HeadIndex[]} heads */
  function choose(heads) {
    chosen = heads;
    const here = heads.filter((head) => held.has(head));
    const missing = heads.filter((head) => !held.has(head)).map(headName);
    note.textContent = missing.length ? `${missing.join(", ")}: not in this file. ${held.held}` : "";
    large.section.hidden = strip.section.hidden = here.length === 0;
    if (here.length === 0) return;
    large.show(held.panels(here));
    strip.show(held.strip(here[0]));
  }

  const bar = element("div", "choices");
  for (const name of /** @type {Chosen[]} */ (Object.keys(CHOICES))) {
    const { label, options } = CHOICES[name];
    const choice = dropDown(label, options, held.props[name], (value) => {
      Object.assign(held.props, { [name]: value });
      if (name !== "scale") held.props.others = {}; // the grid, whose limit that is, shows something else
      choose(chosen);
    });
    if (held.allows(name)) bar.append(choice);
  }
  const chosenHeads = element("div");
  chosenHeads.append(note, bar, large.section);
  const columns = element("div", "columns");
  // With a B there are three pictures a head, which need the width.
  const [beside, others] = held.compares ? [strip.section, [columns, chosenHeads]] : [chosenHeads, [strip.section, columns]];
  columns.append(small.section, beside);
  page.append(...others);
  small.show(grid.data);
  choose(chosen);
}

/** @type {(title: string, options: Record<string, string>, value: string, change: (value: string) => void) => HTMLElement} */
function dropDown(title, options, value, change) {
  const label = element("label", "", `${title} `);
  const select = element("select");
  for (const [name, text] of Object.entries(options)) {
    const option = element("option", "", text);
    option.value = name;
    select.append(option);
  }
  select.value = value;
  select.onchange = () => change(select.value);
  label.append(select);
  return label;
}

/** @typedef {How & AxisProps & { scale: Root, panels: PanelProps[], others: object }} HeldProps of heads/__init__.py, as far as it matters here */

class HeldHeads {
  /** @param {Uint8Array} data @param {Uint8Array} text the strip, of one head */
  constructor(data, text) {
    this.text = unpackHeader(text).header.props;
    const { header, start } = unpackHeader(data);
    this.header = /** @type {Omit<Header, "props"> & { props: HeldProps }} */ (header);
    this.props = this.header.props;
    this.arrays = unpackArrays(data, header, start);
    this.slots = new Map(this.props.panels.map(({ heads }, slot) => [headName(heads[0]), slot]));
  }

  /** @param {HeadIndex} head */
  has(head) {
    return this.slots.has(headName(head));
  }

  get compares() {
    return this.header.props.panels[0].heads.length > 1;
  }

  get held() {
    return `It holds ${[...this.slots.keys()].join(", ")}.`;
  }

  // Words and sentences have weights alone: their write norms are not numbers.
  /** @param {Chosen} name */
  allows(name) {
    return name !== "show" || !this.arrays["0.a.norms"]?.values.every(Number.isNaN);
  }

  /** @param {HeadIndex[]} heads */
  panels(heads) {
    const slots = heads.map((head) => this.slotOf(head));
    const props = { ...this.props, panels: slots.map((slot) => this.header.props.panels[slot]) };
    return this.packed("heads", props, slots.flatMap((slot, place) => this.renamed(slot, `${place}.`)));
  }

  /** @param {HeadIndex} head */
  strip(head) {
    const slot = this.slotOf(head);
    const props = { ...this.text, ...this.props, ...this.header.props.panels[slot] };
    return this.packed("strip", props, this.renamed(slot, ""));
  }

  // Of a head that is held.
  /** @param {HeadIndex} head */
  slotOf(head) {
    return /** @type {number} */ (this.slots.get(headName(head)));
  }

  // [new name, old name] of a slot's arrays.
  /** @type {(slot: number, prefix: string) => [string, string][]} */
  renamed(slot, prefix) {
    const own = Object.keys(this.arrays).filter((name) => name.startsWith(`${slot}.`));
    return own.map((name) => [prefix + name.slice(`${slot}.`.length), name]);
  }

  /** @type {(key: string, props: Partial<HeldProps & PanelProps>, names: [string, string][]) => Uint8Array} */
  packed(key, props, names) {
    const content = JSON.stringify([props.panels ?? props.heads, props.show, props.sink, props.scale]);
    /** @type {<Kind>(source: Record<string, Kind>) => Record<string, Kind>} */
    const of = (source) => Object.fromEntries(names.map(([name, old]) => [name, source[old]]));
    return packedData({ ...this.header, key, content, props, digests: of(this.header.digests), value: null }, of(this.arrays));
  }
}

// What packing.py does, the other way round.
/** @type {(header: Header, arrays: Arrays) => Uint8Array} */
function packedData(header, arrays) {
  const name = (/** @type {Packed} */ { values }) => values.constructor.name.replace("Array", "").toLowerCase();
  const described = Object.entries(arrays).map(([key, array]) => ({ name: key, dtype: name(array), shape: array.shape }));
  const text = new TextEncoder().encode(JSON.stringify({ ...header, arrays: described }));
  const blocks = Object.values(arrays).map(({ values }) => new Uint8Array(values.buffer));
  const bytes = new Uint8Array(LENGTH_BYTES + text.length + blocks.reduce((sum, block) => sum + block.length, 0));
  new DataView(bytes.buffer).setUint32(0, text.length, true);
  bytes.set(text, LENGTH_BYTES);
  let at = LENGTH_BYTES + text.length;
  for (const block of blocks) {
    bytes.set(block, at);
    at += block.length;
  }
  return bytes;
}
