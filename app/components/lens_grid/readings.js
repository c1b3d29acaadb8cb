// What one picture of the lens shows: a run's own readings, or the difference between two. Cells are { layer, position }.
const NO_TOKEN = -1;

class Reading {
  constructor(title, layerLabels, arrays, slot) {
    this.title = title;
    this.layerLabels = layerLabels;
    this.measure = arrays[`measure${slot}`].values;
    this.top = arrays[`top${slot}`].values;
    this.probabilities = arrays[`probabilities${slot}`].values;
    [this.layers, this.positions, this.depth] = arrays[`top${slot}`].shape;
  }

  has({ layer, position }) {
    return layer < this.layers && this.top[this.at({ layer, position })] !== NO_TOKEN;
  }

  at({ layer, position }, rank = 0) {
    return (layer * this.positions + position) * this.depth + rank;
  }

  value({ layer, position }) {
    return this.measure[layer * this.positions + position];
  }

  // The best tokens as [index into the vocabulary, probability].
  best(cell) {
    const ranks = Array.from({ length: this.depth }, (_, rank) => this.at(cell, rank));
    return ranks.map((at) => [this.top[at], this.probabilities[at]]);
  }

  text(cell, vocabulary) {
    return vocabulary[this.top[this.at(cell)]];
  }

  measureText(cell) {
    return significant(this.value(cell));
  }
}

// B - A of the measure, where both runs have the cell.
class Difference {
  title = "B − A";

  constructor(a, b) {
    Object.assign(this, { a, b, positions: a.positions, layers: Math.min(a.layers, b.layers) });
    this.layerLabels = a.layerLabels.slice(0, this.layers);
    const cells = Array.from({ length: this.layers * this.positions }, (_, index) => index);
    const sizes = cells.map((index) => Math.abs(b.measure[index] - a.measure[index])).filter(Number.isFinite);
    this.limit = sizes.reduce((largest, size) => Math.max(largest, size), 0) || 1;
  }

  has(cell) {
    return this.a.has(cell) && this.b.has(cell);
  }

  value(cell) {
    return this.b.value(cell) - this.a.value(cell);
  }

  text(cell, vocabulary) {
    const [before, after] = [this.a, this.b].map((run) => run.text(cell, vocabulary));
    return before === after ? after : `${before} → ${after}`;
  }

  measureText(cell) {
    return withSign(this.value(cell));
  }
}
