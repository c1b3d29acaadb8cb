// Heads by their names in texts, and the menu of a head's pages, which the navigation opens wherever a head is named. In
// a file or a notebook, which have no pages, there is none.
const HEAD_MENU = "head menu"; // the group of the navigation, which says on the topic "offered" that there is a menu
const HEAD_NAME = /\b(?:(?:self|cross|encoder) )?L\d+H\d+\b/g; // an encoder-decoder's with the kind of its attention
const LONG_TOUCH = 500; // milliseconds
const STAYS = 10; // CSS pixels that a finger may move and still mean the same place
const MENU_HINT = "m opens a head's menu";

/** @typedef {{ heads: HeadIndex[], x: number, y: number }} HeadMenuCall the topic "open" */

// The heads that texts name, each once: "L1H3" in any of them, or a layer "L1" and a head "H3" as two of them.
/** @type {(...texts: string[]) => HeadIndex[]} */
function headsIn(...texts) {
  const [layer, head] = ["L", "H"].map((letter) => texts.find((text) => text[0] === letter && /^\d+$/.test(text.slice(1))));
  const named = layer && head ? [`${layer}${head}`] : [];
  const names = [...named, ...texts.flatMap((text) => text.match(HEAD_NAME) ?? [])];
  return [...new Set(names)].map(headNamed);
}

/** @type {(name: string) => HeadIndex} */
function headNamed(name) {
  const kind = name.match(/^\w+(?= )/)?.[0];
  const [layer, head] = name.slice(name.lastIndexOf("L") + 1).split("H").map(Number);
  return kind ? [layer, head, kind] : [layer, head];
}

const hasHeadMenu = () => Boolean(PAGE.groups.get(HEAD_MENU)?.latest.get("offered"));

// Opens the menu of these heads at a point of the window.
/** @param {HeadIndex[]} heads @param {number} x @param {number} y */
function openHeadMenu(heads, x, y) {
  if (heads.length === 0 || !hasHeadMenu()) return;
  for (const member of PAGE.groups.get(HEAD_MENU)?.members ?? []) member.open?.({ heads, x, y });
}

// Has the heads that an element shows lead to their menu by a right click or a long touch. Keys are the component's own.
/** @param {HTMLElement} made @param {(event: MouseEvent) => HeadIndex[]} headsAt */
function offerHeadMenu(made, headsAt) {
  made.addEventListener("contextmenu", (event) => {
    const heads = hasHeadMenu() ? headsAt(event) : [];
    if (heads.length === 0) return;
    event.preventDefault();
    openHeadMenu(heads, event.clientX, event.clientY);
  });
  onLongTouch(made, (event) => {
    const heads = hasHeadMenu() ? headsAt(event) : [];
    setTimeout(() => openHeadMenu(heads, event.clientX, event.clientY)); // the end of the touch would close it
    return heads.length > 0;
  });
}

// Calls `act` at the end of a touch that was long and stayed in its place; where it answers, that is no click. Safari has
// no contextmenu for one.
/** @param {HTMLElement} made @param {(event: MouseEvent) => boolean} act */
function onLongTouch(made, act) {
  /** @type {{ time: number, x: number, y: number } | null} */
  let begun = null;
  const begin = (/** @type {TouchEvent} */ { timeStamp: time, touches: [touch, second] }) => {
    begun = second ? null : { time, x: touch.clientX, y: touch.clientY };
  };
  made.addEventListener("touchstart", begin, { passive: true });
  made.addEventListener("touchend", (event) => {
    const { clientX, clientY } = event.changedTouches[0];
    if (!begun || event.timeStamp - begun.time < LONG_TOUCH) return;
    if (Math.hypot(clientX - begun.x, clientY - begun.y) > STAYS) return;
    if (act(new PointerEvent("contextmenu", { clientX, clientY, pointerType: "touch" }))) event.preventDefault();
  });
}

// A text as elements, in which each head's name is a button that opens its menu, where there is one.
/** @type {(text: string) => (string | HTMLElement)[]} */
function withHeadButtons(text) {
  if (!hasHeadMenu()) return [text];
  const parts = text.split(new RegExp(`(${HEAD_NAME.source}[,.;:)]*)`));
  return parts.map((part, at) => (at % 2 ? markedButton(part) : part)).filter((part) => part !== "");
}

// A head's name, and on the same line the marks after it: a browser would begin a line with them after a button.
/** @param {string} part */
function markedButton(part) {
  const [name] = part.match(HEAD_NAME) ?? [part];
  const line = element("span");
  line.style.whiteSpace = "nowrap";
  line.append(headButton(name), part.slice(name.length));
  return line;
}

/** @param {string} name */
function headButton(name) {
  const button = buttonOf(name, () => {
    const { left, bottom } = button.getBoundingClientRect();
    openHeadMenu(headsIn(name), left, bottom);
  });
  button.className = "head-name";
  button.ariaHasPopup = "menu";
  button.title = `Pages of ${name}`;
  button.addEventListener("click", (event) => event.stopPropagation()); // a row or a picture under it is not chosen
  return button;
}
