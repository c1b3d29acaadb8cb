// The menu of one head or several: the pages that show it, its ablation, or what else the page does with a head. Names
// of heads in the page's own texts and plots, which are no component of ours, open it too.
const LOOK_AGAIN = 200; // milliseconds, for a place that is not there yet
const MOST_LOOKS = 50;
const NOT_TEXT = "button, a, input, textarea, label, [role=option], [role=menu], [contenteditable]";

class HeadMenu {
  /** @type {Pages} */
  entries = [];
  /** @type {Element | null} */
  before = null; // what the keyboard was at

  /**
   * @param {View} view @param {(slug: string) => boolean} isPage
   * @param {(slug: string, head: HeadIndex) => void} follow
   */
  constructor(view, isPage, follow) {
    this.isPage = isPage;
    this.follow = follow;
    this.pane = element("div", "list heads");
    this.pane.popover = "auto";
    this.pane.setAttribute("role", "menu");
    view.root.append(this.pane);
    const turn = (/** @type {number} */ by) => () => this.turn(by);
    this.pane.onkeydown = (event) => {
      const [first, last] = [turn(-Infinity), turn(Infinity)];
      const keys = { ArrowDown: turn(1), ArrowUp: turn(-1), Home: first, End: last, Escape: () => this.close() };
      const act = keys[/** @type {keyof typeof keys} */ (event.key)];
      if (!act) return;
      event.preventDefault();
      act();
    };
    new NamedHeads((call) => this.open(call));
  }

  /** @param {HeadMenuCall} call */
  open({ heads, x, y }) {
    if (this.entries.length === 0 || !this.pane.isConnected) return;
    this.pane.ariaLabel = heads.map(headName).join(", ");
    this.pane.replaceChildren(...heads.slice(0, 4).flatMap((head) => this.itemsOf(head)));
    this.before = focused();
    this.pane.style.translate = "0 0";
    if (!this.pane.matches(":popover-open")) this.pane.showPopover();
    const { width, height } = this.pane.getBoundingClientRect();
    const left = clamp(x, 8, innerWidth - width - 8);
    const top = y + height + 12 < innerHeight ? y + 4 : Math.max(8, innerHeight - height - 8);
    this.pane.style.translate = `${left}px ${top}px`;
    this.items[0]?.focus({ preventScroll: true });
  }

  close() {
    this.pane.hidePopover();
    if (this.before instanceof HTMLElement) this.before.focus({ preventScroll: true });
  }

  /** @returns {HTMLElement[]} */
  get items() {
    return [...this.pane.querySelectorAll(/** @type {"a"} */ ("[role=menuitem]"))];
  }

  /** @param {HeadIndex} head */
  itemsOf(head) {
    const name = element("div", "head", headName(head));
    name.setAttribute("role", "presentation");
    return [name, ...this.entries.map(([slug, title]) => this.item(slug, title, head))];
  }

  // A link, as far as it leads to a page, which the browser can open elsewhere.
  /** @param {string} slug @param {string} title @param {HeadIndex} head */
  item(slug, title, head) {
    const item = element("a", "page", title);
    item.setAttribute("role", "menuitem");
    item.tabIndex = 0;
    const isPage = this.isPage(slug);
    if (isPage) item.href = addressOf(slug, head);
    const go = () => {
      this.pane.hidePopover();
      this.follow(slug, head);
      if (!isPage) showPlace(slug);
    };
    item.onclick = (event) => {
      if (isPage && (event.ctrlKey || event.metaKey || event.shiftKey)) return;
      event.preventDefault();
      go();
    };
    onKeys(item, { " ": go, ...(isPage ? {} : { Enter: go }) });
    return item;
  }

  /** @param {number} by */
  turn(by) {
    const { items } = this;
    const root = /** @type {ShadowRoot} */ (this.pane.getRootNode());
    const now = items.indexOf(/** @type {HTMLElement} */ (root.activeElement));
    items[Number.isFinite(by) ? (now + by + items.length) % items.length : by < 0 ? 0 : items.length - 1]?.focus();
  }
}

// Scrolls to the container in which the page answers, once it is there.
/** @param {string} key */
function showPlace(key, looks = MOST_LOOKS) {
  const place = document.querySelector(`.st-key-headlight-${key}`);
  const behavior = QUIET.matches ? "instant" : "smooth";
  if (place) place.scrollIntoView({ block: "start", behavior });
  else if (looks > 0) setTimeout(() => showPlace(key, looks - 1), LOOK_AGAIN);
}

// The same selection on another page, with this head and no cell of another.
/** @param {string} slug @param {HeadIndex} head */
function addressOf(slug, head) {
  const query = new URLSearchParams(location.search);
  query.set("page", slug);
  query.set("heads", head.join("."));
  query.delete("keys");
  return `?${query}`;
}

// Heads named in running text and in plots: underlined where the browser can underline without touching the page, and
// opened by a click.
class NamedHeads {
  /** @param {(call: HeadMenuCall) => void} open */
  constructor(open) {
    this.open = open;
    document.addEventListener("click", (event) => this.hear(event));
    document.addEventListener("contextmenu", (event) => this.hearOfPoint(event));
    const observer = new MutationObserver(atNextFrame(() => this.underline()));
    observer.observe(document.body, { childList: true, subtree: true, characterData: true });
  }

  underline() {
    if (!("highlights" in CSS)) return;
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const ranges = [];
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      for (const { index, 0: name } of node.nodeValue?.matchAll(HEAD_NAME) ?? []) {
        if (node.parentElement?.closest(`${NOT_TEXT}, script, style, svg`)) continue;
        const range = new StaticRange({ startContainer: node, startOffset: index, endContainer: node, endOffset: index + name.length });
        ranges.push(range);
      }
    }
    CSS.highlights.set("head-name", new Highlight(...ranges));
  }

  // A plot's own click chooses the point; a right click opens the menu of the heads that its tooltip names.
  /** @param {MouseEvent} event */
  hearOfPoint(event) {
    const plot = event.target instanceof Element ? event.target.closest(".js-plotly-plot") : null;
    const heads = headsIn(plot?.querySelector(".hoverlayer")?.textContent ?? "");
    if (heads.length === 0 || !hasHeadMenu()) return;
    event.preventDefault();
    this.open({ heads, x: event.clientX, y: event.clientY });
  }

  /** @param {MouseEvent} event */
  hear(event) {
    const clicked = event.target;
    if (!(clicked instanceof Element) || clicked.closest(NOT_TEXT) || clicked.shadowRoot) return;
    const { clientX: x, clientY: y } = event;
    const plot = clicked.closest(".js-plotly-plot");
    const heads = headsIn(plot ? labelAt(plot, x, y) : wordAt(x, y));
    if (heads.length > 0 && String(getSelection()) === "") this.open({ heads, x, y });
  }
}

// The head's name under a point of running text.
/** @param {number} x @param {number} y */
function wordAt(x, y) {
  const at = document.caretPositionFromPoint?.(x, y);
  if (at?.offsetNode.nodeType !== Node.TEXT_NODE) return "";
  const names = [...(at.offsetNode.nodeValue ?? "").matchAll(HEAD_NAME)];
  return names.find(({ index, 0: name }) => index <= at.offset && at.offset <= index + name.length)?.[0] ?? "";
}

// The label of a plot under a point: what is dragged over lies above it.
/** @param {Element} plot @param {number} x @param {number} y */
function labelAt(plot, x, y) {
  const label = [...plot.querySelectorAll("text")].find((text) => {
    const { left, right, top, bottom } = text.getBoundingClientRect();
    return left <= x && x <= right && top <= y && y <= bottom;
  });
  return label?.textContent ?? "";
}
