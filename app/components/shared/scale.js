// Values to colours. A level is a small integer that matrix.js paints: first why a cell has no value, then the size of
// the value, so that of many cells under one pixel the largest shows, whatever its sign.
/** @type {Record<Lack, number>} */
const LACK_LEVELS = { masked: MASKED, absent: 1, unknown: 1, hidden: 2 };
const FIRST_LEVEL = 3;
/** @type {(root: Root, share: number) => number} */
const shaped = (root, share) => (root === "sqrt" ? Math.sqrt(share) : share);

// Two digits are enough for the end of a colour bar.
/** @param {number} value */
function roundLimitUp(value) {
  if (!(value > 0)) return 1;
  const step = 10 ** (Math.floor(Math.log10(value)) - 1);
  return Number((Math.ceil(value / step - 1e-9) * step).toPrecision(2));
}

// The same for what is computed in float32, whose rounding is not to be coloured as if it were something.
const NOISE = 1e-5;
/** @type {(largest: number) => number} */
const scaleEnd = (largest) => (largest > NOISE ? roundLimitUp(largest) : 1);

class ColourScale {
  // `limit` is the value at the far end, or at both ends if values are signed; these are then seen from `centre`.
  /** @param {{ signed?: boolean, root: Root, limit: number, centre?: number }} look */
  constructor({ signed = false, root, limit, centre = 0 }) {
    this.signed = signed;
    this.root = root;
    this.limit = limit;
    this.centre = centre;
    this.sizes = signed ? MAP_SIZE / 2 - 1 : MAP_SIZE - 1;
  }

  // The scale that shows all of these heads, which have one measure: up to the most it can be, or to their own largest,
  // unless the other heads of the page go further.
  /** @param {Shown[]} heads @param {Root} root */
  static for(heads, root, own = false, others = 0) {
    const { signed, root: fixedRoot, most } = heads[0].measure;
    const largest = () => heads.reduce((limit, head) => Math.max(limit, largestValue(head)), own ? 0 : others);
    const limit = most && !own ? most : scaleEnd(largest());
    return new ColourScale({ signed, root: fixedRoot ?? root, limit });
  }

  /** @param {number} value */
  level(value) {
    const away = value - this.centre;
    const size = Math.round(this.sizes * shaped(this.root, Math.min(1, Math.abs(away) / this.limit)));
    return FIRST_LEVEL + (this.signed ? 2 * size + Number(away > 0) : size);
  }

  // Whether a value lies so large a share of the scale from its middle, or its lower end.
  /** @param {number} value @param {number} least */
  isLarge(value, least) {
    return Math.abs(value - this.centre) >= least * this.limit;
  }

  /** @param {ColourScale} other */
  isLike(other) {
    const { signed, root, limit, centre } = this;
    return signed === other.signed && root === other.root && limit === other.limit && centre === other.centre;
  }

  // A head's levels, which it keeps as long as it is seen on a scale like this one.
  /** @type {(head: Shown) => Uint16Array} */
  levels(head) {
    const seen = head.seen?.scale.isLike(this) ? head.seen : { scale: this, levels: this.levelsOf(head) };
    head.seen = seen;
    return seen.levels;
  }

  /** @param {Shown} head */
  levelsOf(head) {
    const { rows, columns, patterns } = head;
    const levels = new Uint16Array(rows * columns).fill(MASKED);
    const [one, other] = [patterns[0].cells, patterns[patterns.length - 1].cells];
    for (let query = 0, place = 0; query < rows; query++) {
      const values = head.row(query);
      for (let key = 0; key < columns; key++, place++) {
        if (!Number.isNaN(values[key])) levels[place] = this.level(values[key]);
        else if (one[place] !== MASKED_CELL || other[place] !== MASKED_CELL) levels[place] = LACK_LEVELS[head.lack(query, key) ?? "unknown"];
      }
    }
    return levels;
  }

  /** @param {Theme} theme */
  map(theme) {
    return this.signed ? theme.diverging : theme.map;
  }

  /** @param {Theme} theme @param {number} level */
  levelColour(theme, level) {
    const size = level - FIRST_LEVEL;
    if (!this.signed) return theme.map[size];
    return theme.diverging[size % 2 ? MAP_SIZE / 2 + (size >> 1) : MAP_SIZE / 2 - 1 - (size >> 1)];
  }

  /** @param {Theme} theme @param {number} value */
  colour(theme, value) {
    return this.levelColour(theme, this.level(value));
  }

  // Every level's colour, ready for ImageData; level 0 is hatched instead.
  /** @param {Theme} theme */
  palette(theme) {
    const values = Array.from({ length: MAP_SIZE }, (_, size) => this.levelColour(theme, FIRST_LEVEL + size));
    return Uint32Array.from([theme.background, theme.absent, theme.hidden, ...values], packedColour);
  }

  /** @returns {Tick[]} */
  ticks() {
    const shares = CONSTANTS.ticks[this.root][this.signed ? "signed" : "positive"];
    return shares.map((share) => {
      const size = shaped(this.root, Math.abs(share));
      const place = this.signed ? (1 + Math.sign(share) * size) / 2 : size;
      return [place, this.tickText(this.centre + share * this.limit)];
    });
  }

  /** @param {number} value */
  tickText(value) {
    return `${this.signed && !this.centre && value > 0 ? "+" : ""}${inDigits(value, 2)}`;
  }

  // A colour bar; without the values where they differ from head to head.
  /** @param {Theme} theme @param {string} title */
  bar(theme, title, own = false) {
    const sides = this.signed ? ["− largest", "0", "+ largest"] : ["0", "largest"];
    /** @type {Tick[]} */
    const ends = sides.map((text, index) => [index / (sides.length - 1), text]);
    return legendBar({ title, ticks: own ? ends : this.ticks(), map: this.map(theme) });
  }

  get rangeText() {
    return this.signed ? `±${this.tickText(this.limit).slice(1)}` : `0 – ${this.tickText(this.limit)}`;
  }
}
