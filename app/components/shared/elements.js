// Elements, and what hears of them. Text from a model or a user only ever becomes `textContent` or canvas text.
/** @type {<Tag extends keyof HTMLElementTagNameMap>(tag: Tag, className?: string, text?: string) => HTMLElementTagNameMap[Tag]} */
function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

/** @type {(text: string, press: () => void) => HTMLButtonElement} */
const buttonOf = (text, press) => Object.assign(element("button", "", text), { type: "button", onclick: press });

// What the keyboard turns to as one, and a screen reader knows by its role; an "application" is described.
/** @type {(className: string, role: string, description?: string) => HTMLElement} */
const widget = (className, role, description) =>
  Object.assign(element("div", className), { tabIndex: 0, role, ariaRoleDescription: description });

// One of a listbox, which names it by its id when the keyboard is there.
/** @type {(className: string, id: string, text?: string) => HTMLElement} */
const optionOf = (className, id, text) => Object.assign(element("div", className, text), { id, role: "option" });

// Makes these an element's children. Those that are there already stay in their places, undrawn anew, and with them the
// keyboard's focus and what is half typed.
/** @param {HTMLElement} parent @param {HTMLElement[]} children */
function setChildren(parent, children) {
  /** @type {Set<Element>} */
  const kept = new Set(children);
  for (const child of [...parent.children]) if (!kept.has(child)) child.remove();
  children.forEach((child, place) => {
    if (parent.children[place] !== child) parent.insertBefore(child, parent.children[place] ?? null);
  });
}

// A value's colour under text that is read on it, or neither.
/** @param {HTMLElement} made @param {Rgb | null} colour */
function tint({ style }, colour) {
  style.background = colour ? cssColour(colour) : "";
  style.color = colour ? inkOn(colour) : "";
}

// The element that has the keyboard's focus, in whichever shadow tree.
function focused() {
  let element = document.activeElement;
  while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
  return element;
}

// The first element within a part of the page that the keyboard can be at, in whichever shadow tree.
/** @param {Element | null} part */
function firstStop(part) {
  const all = [...(part?.querySelectorAll("*") ?? [])].flatMap((each) => [each, ...(each.shadowRoot?.querySelectorAll("*") ?? [])]);
  return all.filter((each) => each instanceof HTMLElement).find((each) => each.tabIndex >= 0 && !each.matches(":disabled") && each.checkVisibility({ visibilityProperty: true }));
}

// Scrolls a list to one of its elements that is out of its sight, into the middle; the page stays where it is.
/** @param {HTMLElement} list @param {HTMLElement} shown */
function revealIn(list, shown) {
  const [box, sight] = [shown, list].map((each) => each.getBoundingClientRect());
  if (box.top < sight.top || box.bottom > sight.bottom) list.scrollTop += (box.top + box.bottom - sight.top - sight.bottom) / 2;
}

// What an event is of.
/** @type {(event: Event) => HTMLElement} */
const targetOf = (event) => /** @type {HTMLElement} */ (event.target);

// Which of some elements an event is in, -1 for none.
/** @type {(elements: HTMLElement[], event: Event) => number} */
const placeOf = (elements, event) => elements.findIndex((each) => each.contains(targetOf(event)));

// Has an element hear the keys that are pressed on itself, such as "Control+Home". The others are the browser's, as is one
// of which what hears it returns false.
/** @param {HTMLElement} made @param {Record<string, (key: string) => unknown>} keys */
function onKeys(made, keys) {
  made.onkeydown = (event) => {
    const modifiers = [event.ctrlKey && "Control", event.altKey && "Alt", event.metaKey && "Meta"];
    const key = [...modifiers, event.key].filter(Boolean).join("+");
    if (event.target === made && key in keys && keys[key](key) !== false) event.preventDefault();
  };
}

// The keys that lead down and to the right by so many.
/** @type {(move: (down: number, right: number) => unknown) => Record<string, () => unknown>} */
const arrowKeys = (move) => ({
  ArrowUp: () => move(-1, 0),
  ArrowDown: () => move(1, 0),
  ArrowLeft: () => move(0, -1),
  ArrowRight: () => move(0, 1),
});

// Has a button open a pane under itself, within the window; Escape or a click elsewhere closes it.
/** @param {HTMLButtonElement} button @param {HTMLElement} pane */
function opens(button, pane) {
  pane.popover = "auto";
  pane.onbeforetoggle = ({ newState }) => {
    const { left, bottom } = button.getBoundingClientRect();
    pane.style.translate = `clamp(8px, ${left}px, 100vw - 100% - 8px) ${bottom + 4}px`;
    button.ariaExpanded = String(newState === "open");
  };
  button.popoverTargetElement = pane;
  button.ariaExpanded = "false";
}

/** @type {() => Promise<void>} */
const nextFrame = () => new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)));

// Has something done at the next frame, once however often it is asked for.
/** @param {() => void} act */
function atNextFrame(act) {
  let isAsked = false;
  return () => {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(() => {
      isAsked = false;
      act();
    });
  };
}
