// What stands around a head's picture: its roles as bars above, its score as a tint below.
/** @typedef {{ key: string, title: string, colour: string, heads: HeadIndex[] }} HeadRole */
/** @typedef {{ title: string, limit: number, kind: ThumbnailKind }} Scored */
const [ROLE_BAR, SCORE_BAR] = [3, 6]; // CSS pixels above and below a picture
const DIMMED = 0.8; // of a picture, what the ground covers

class HeadBars {
  /** @type {string | HeadIndex[] | null} */
  role = null; // the one looked at, whose heads alone stand out; or these heads
  /** @type {Map<string, HeadRole[]>} */
  roles = new Map(); // by a head's name
  /** @type {Scored | null} */
  scored = null;
  /** @type {Bytes | undefined} */
  scores;

  /** @param {HeadGridProps} props @param {Bytes} [scores] codes by layer and head */
  hold({ roles, role, scored }, scores) {
    [this.role, this.scored, this.scores, this.roles] = [role, scored, scores, new Map()];
    for (const each of roles) {
      for (const head of each.heads) this.roles.set(headName(head), [...this.rolesOf(head), each]);
    }
  }

  /** @param {HeadIndex} head */
  rolesOf(head) {
    return this.roles.get(headName(head)) ?? [];
  }

  // Above and below a picture, in CSS pixels.
  get room() {
    return [this.roles.size > 0 ? ROLE_BAR : 0, this.scored ? SCORE_BAR : 0];
  }

  // Of the scores.
  /** @param {Theme} theme */
  legend(theme) {
    if (!this.scored) return [];
    const { kind, title, limit } = this.scored;
    return [new ColourScale({ signed: kind === "signed", root: "sqrt", limit }).bar(theme, title)];
  }

  /** @param {HeadIndex} head */
  standsOut(head) {
    const { role } = this;
    if (!Array.isArray(role)) return !role || this.rolesOf(head).some(({ key }) => key === role);
    return role.some((each) => headName(each) === headName(head));
  }

  // Around a picture; where others stand out, the ground covers all.
  /**
   * @param {CanvasRenderingContext2D} context @param {Theme} theme @param {GridLayout} layout
   * @param {HeadIndex} head @param {number} left @param {number} top
   */
  paint(context, theme, { width, height, above, below }, head, left, top) {
    const roles = this.rolesOf(head);
    const share = width / (roles.length || 1);
    for (const [slot, { colour }] of roles.entries()) {
      context.fillStyle = colour;
      context.fillRect(left + slot * share, top - above - 1, share, above);
    }
    if (this.scored) {
      context.fillStyle = cssColour(this.tintOf(head, theme));
      context.fillRect(left, top + height + 2, width, below - 2);
    }
    if (this.standsOut(head)) return;
    context.fillStyle = cssColour(theme.background, DIMMED);
    context.fillRect(left - 1, top - above - 1, width + 2, above + height + below + 2);
  }

  /** @param {HeadIndex} head @param {Theme} theme */
  tintOf([layer, head], theme) {
    const { values, shape } = /** @type {Bytes} */ (this.scores);
    const { kind } = /** @type {Scored} */ (this.scored);
    const code = values[layer * shape[1] + head];
    return code === MASKED ? theme.absent : colourAt(kind === "signed" ? theme.diverging : theme.map, CODE_SHARES[kind](code));
  }
}

// A role of the legend, with how many heads have it; it is a switch.
/** @param {HeadRole} role @param {string | null} chosen @param {() => void} press */
function roleButton({ key, title, colour, heads }, chosen, press) {
  const button = buttonOf("", press);
  const swatch = element("span", "swatch");
  swatch.style.background = colour;
  button.append(swatch, element("span", "", title), element("span", "count", String(heads.length)));
  button.ariaPressed = String(chosen === key);
  return button;
}
