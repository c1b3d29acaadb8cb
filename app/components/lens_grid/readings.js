// What one picture of the lens shows: a run's own readings, or the difference between two. Cells are { layer, position }.
const NO_TOKEN = -1;
/** @typedef {{ layer: number, position: number }} LensCell */

class Reading {
  /** @type {number} */
  layers;
  /** @type {number} */
  positions;
  /** @type {number} */
  depth; // of the list of top tokens

  /** @param {string} title @param {string[]} layerLabels @param {Arrays} arrays @param {number} slot */
  constructor(title, layerLabels, arrays, slot) {
    this.title = title;
    this.layerLabels = layerLabels;
    this.measure = arrays[`measure${slot}`].values;
    this.top = arrays[`top${slot}`].values;
    this.probabilities = arrays[`probabilities${slot}`].values;
    this.changes = arrays[`changes${slot}`]?.values;
    this.settled = arrays[`settled${slot}`]?.values;
    [this.layers, this.positions, this.depth] = arrays[`top${slot}`].shape;
  }

  /** @param {LensCell} cell */
  has({ layer, position }) {
    return layer < this.layers && this.top[this.at({ layer, position })] !== NO_TOKEN;
  }

  /** @param {LensCell} cell */
  at({ layer, position }, rank = 0) {
    return (layer * this.positions + position) * this.depth + rank;
  }

  /** @param {LensCell} cell */
  value({ layer, position }) {
    return this.measure[layer * this.positions + position];
  }

  // The best tokens as [index into the vocabulary, probability].
  /** @type {(cell: LensCell) => [token: number, probability: number][]} */
  best(cell) {
    const ranks = Array.from({ length: this.depth }, (_, rank) => this.at(cell, rank));
    return ranks.map((at) => [this.top[at], this.probabilities[at]]);
  }

  /** @param {LensCell} cell @param {string[]} vocabulary */
  text(cell, vocabulary) {
    return shortLabel(vocabulary[this.top[this.at(cell)]], 1); // what ends a text, as a guess
  }

  get isStory() {
    return this.changes !== undefined;
  }

  // Whether the cell's word is written: every one, or of a story where the best guess changes.
  /** @param {LensCell} cell */
  isWritten({ layer, position }) {
    return !this.changes || this.changes[layer * this.positions + position] > 0;
  }

  // Whether the best guess is the final answer from here on.
  /** @param {LensCell} cell */
  isSettled({ layer, position }) {
    return this.settled !== undefined && layer >= this.settled[position];
  }

  /** @param {LensCell} cell */
  measureText(cell) {
    return significant(this.value(cell));
  }
}

// B - A of the measure, where both runs have the cell.
class Difference {
  title = "B − A";

  /** @param {Reading} a @param {Reading} b */
  constructor(a, b) {
    this.a = a;
    this.b = b;
    this.positions = a.positions;
    this.layers = Math.min(a.layers, b.layers);
    this.layerLabels = a.layerLabels.slice(0, this.layers);
    const cells = Array.from({ length: this.layers * this.positions }, (_, index) => index);
    const sizes = cells.map((index) => Math.abs(b.measure[index] - a.measure[index])).filter(Number.isFinite);
    this.limit = sizes.reduce((largest, size) => Math.max(largest, size), 0) || 1;
  }

  /** @param {LensCell} cell */
  has(cell) {
    return this.a.has(cell) && this.b.has(cell);
  }

  /** @param {LensCell} cell */
  value(cell) {
    return this.b.value(cell) - this.a.value(cell);
  }

  /** @param {LensCell} cell @param {string[]} vocabulary */
  text(cell, vocabulary) {
    const [before, after] = [this.a, this.b].map((run) => run.text(cell, vocabulary));
    return before === after ? after : `${before} → ${after}`;
  }

  get isStory() {
    return this.a.isStory;
  }

  /** @param {LensCell} cell */
  isWritten(cell) {
    return this.a.isWritten(cell) || this.b.isWritten(cell);
  }

  /** @param {LensCell} cell */
  isSettled(cell) {
    return this.a.isSettled(cell) && this.b.isSettled(cell);
  }

  /** @param {LensCell} cell */
  measureText(cell) {
    return withSign(this.value(cell));
  }
}
