// The turns of a conversation among its tokens.
/** @typedef {[role: string, start: number][]} TurnStarts by the place that each begins at */

// Has each turn begin a line of its list, with its role before its first token.
/** @type {(chips: HTMLElement[], turns: TurnStarts) => void} */
function markTurns(chips, turns) {
  for (const [role, start] of turns) {
    const mark = Object.assign(element("span", "turn", role), { ariaHidden: "true" });
    chips[start].before(element("span", "break"), mark);
  }
}

// Whose turn a token belongs to, as it is said.
/** @type {(turns: TurnStarts, place: number) => string} */
function turnAt(turns, place) {
  const turn = turns.findLast(([, start]) => start <= place);
  return turn ? `in a turn of ${turn[0]}` : "";
}
