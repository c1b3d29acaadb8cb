// The life of a component. Streamlit calls the script again after each run and change of theme; the view stays with its
// element. When the element goes, with the page, the view is put by, with all that it has drawn, for when it comes back.
const SCROLL_BAR = 20; // CSS pixels, at most
const AT_REST = 100; // milliseconds, as is the next
const HELD_KEY_DELAY = 250; // until the server hears of what a held key, or a button of a number, goes through
/** @typedef {ReturnType<typeof setTimeout> | undefined} Timer */

// What stands around an element's shadow tree.
/** @type {(element: Element) => Element | undefined} */
const hostOf = (element) => /** @type {Partial<ShadowRoot>} */ (element.getRootNode()).host;

class View {
  calls = 0;
  /** @type {number} */
  width; // CSS pixels
  /** @type {Map<Element, [left: number, top: number]>} */
  scrolled = new Map(); // what has been scrolled within it, and where to: an element that is taken out forgets that
  /** @type {Map<string, Packed>} */
  fetched = new Map(); // by their digests, until a message names them
  /** @type {string} */
  key;
  /** @type {string | undefined} */
  content;
  /** @type {number | null} */
  epoch = null;
  /** @type {Theme} */
  theme;
  /** @type {Link} */
  link;
  /** @type {Link} */
  menu; // of the heads that it names
  /** @type {Tell} */
  setStateValue;
  /** @type {Tell} */
  setTriggerValue;
  /** @type {FetchBytes} */
  fetchBytes;
  /** @type {string | null} */
  drawn = null; // to what width and theme
  /** @type {string | undefined} */
  valueJson; // the value that is drawn
  /** @type {number | null} */
  frame = null;
  /** @type {MediaQueryList} */
  pixelRatio;
  asking = () => {}; // no more for what is lost
  /** @type {Timer} */
  reporting;
  /** @type {Timer} */
  fitting;

  /** @param {ComponentClass} Component */
  constructor(Component) {
    this.root = element("div", "headlight");
    this.live = element("div", "live");
    this.live.setAttribute("aria-live", "polite");
    this.caption = element("p", "caption");
    if (PAGE.theme) this.wear(PAGE.theme);
    this.root.append(this.caption);
    this.tooltip = new Tooltip(this.root);
    this.component = new Component(this);
    this.root.append(this.live);
    this.resizing = new ResizeObserver(() => this.fit());
    const note = (/** @type {Event} */ event) => {
      const scrolled = targetOf(event);
      if (!scrolled.isConnected) return; // it was taken off the page, and with it to the top, before it could tell
      this.scrolled.set(scrolled, [scrolled.scrollLeft, scrolled.scrollTop]);
    };
    this.root.addEventListener("scroll", note, { capture: true, passive: true });
  }

  // Takes its place on the page.
  /** @param {HTMLElement} parentElement @param {string} group */
  join(parentElement, group) {
    parentElement.querySelector(".headlight")?.remove(); // that of an earlier script, as after a newer server's start
    parentElement.append(this.root);
    if (!this.theme) this.wear(readTheme(this.root));
    this.link = joinGroup(group, this.component.listeners ?? {});
    this.tellOfBars();
    this.menu = joinGroup(HEAD_MENU, { offered: () => this.content && this.component.nameHeads?.() });
    this.resizing.observe(this.root);
    this.watchPixelRatio();
    this.awaitFont();
    for (const [element, place] of this.scrolled) element.scrollTo(...place);
    this.epoch = null; // its value may be another since
  }

  // Canvas text does not redraw itself when a font arrives late.
  async awaitFont() {
    const { sizes, font, codeFont } = this.theme;
    const late = [font, codeFont].map((each) => `${sizes.label}px ${each}`).filter((each) => !document.fonts.check(each));
    if (PAGE.hasFonts || !late.length) return;
    await Promise.all(late.map((each) => document.fonts.load(each)));
    PAGE.hasFonts = true;
    this.drawAnew();
  }

  // All that is in the root inherits these, and is looked at again when they change: so they are there before it, as they
  // were for the component before. A theme that has changed since is seen at the drawing.
  /** @param {Theme} theme */
  wear(theme) {
    this.theme = PAGE.theme = theme;
    document.documentElement.style.colorScheme = theme.id; // by which tokens.css has its colours
    const colours = { "only-a-colour": theme.onlyA, "only-b-colour": theme.onlyB };
    for (const [name, colour] of Object.entries(colours)) this.root.style.setProperty(`--${name}`, cssColour(colour));
  }

  /** @param {Header} header @param {() => Arrays} unpacked */
  receive(header, unpacked) {
    this.key = header.key;
    if (header.content !== this.content) {
      const arrays = heldArrays(header, unpacked(), this.fetched);
      this.asking();
      if (arrays === null) return void (this.asking = sayLost(this.setTriggerValue));
      this.tooltip.hide(); // what it tells is of the data before
      for (const digest of Object.values(header.digests)) this.fetched.delete(digest);
      this.caption.replaceChildren(...withHeadButtons(header.props.caption ?? ""));
      this.component.update(header.props, arrays);
      this.drawn = null;
    }
    const isNew = header.content !== this.content;
    const before = this.epoch;
    this.content = header.content;
    this.epoch = header.epoch;
    if (isNew || header.epoch !== before) this.put(header.value, before === null && !isNew);
    this.redraw();
  }

  // The user's value, if there is one of this epoch, else Python's. What has come back as it was left shows its own still;
  // without one it shows what its group has pinned, which may be another since.
  /** @param {unknown} begun @param {boolean} isBack */
  put(begun, isBack) {
    const kept = PAGE.values.get(this.key);
    const value = kept?.epoch === this.epoch ? kept.value : begun;
    const json = JSON.stringify(value);
    if (isBack && value !== null && json === this.valueJson) return;
    this.valueJson = json;
    this.component.setValue?.(value);
  }

  // Holds what the component has fetched itself, which Python need not send then. What is held already stays the same.
  /** @type {(digests: Record<string, string>, fetched: Arrays) => Arrays} */
  hold(digests, fetched) {
    const cached = Object.entries(digests).map(([name, digest]) => {
      const array = PAGE.arrays.get(this.key)?.get(digest) ?? this.fetched.get(digest) ?? fetched[name];
      this.fetched.set(digest, array);
      return [name, array];
    });
    return Object.fromEntries(cached);
  }

  // The user's new value: shown already, kept for a later mount, and told to Python, after a delay where keys are held.
  /** @param {unknown} value */
  report(value, delay = 0) {
    this.keep(value);
    clearTimeout(this.reporting);
    this.reporting = setTimeout(() => this.tell(value), delay);
  }

  // At once.
  /** @param {unknown} value */
  tell(value) {
    clearTimeout(this.reporting);
    this.keep(value);
    this.setStateValue("value", { epoch: this.epoch, value });
  }

  // The same for a value that Python can do without.
  /** @param {unknown} value */
  keep(value) {
    this.valueJson = JSON.stringify(value);
    PAGE.values.set(this.key, { epoch: this.epoch, value });
  }

  // Tells Python, once, what of it is to be opened.
  /** @param {unknown} subject */
  open(subject) {
    this.setTriggerValue("opened", subject);
  }

  // In words for a screen reader: of a tooltip's rows all but their bars.
  /** @param {...(string | TooltipRow[])} parts */
  announce(...parts) {
    const words = parts.flatMap((each) => (typeof each === "string" ? each : each.flatMap((row) => row.slice(0, 2))));
    this.live.textContent = words.filter(Boolean).join(" ");
  }

  // That bars which others of the group leave to this component come or go with it.
  tellOfBars() {
    if (this.component.listeners?.bars) this.link.send("barred", null);
  }

  drawAnew() {
    this.drawn = null;
    this.redraw();
  }

  // Drawn to another width once it keeps it: a page that goes passes through those of the page that comes. Streamlit
  // calls stale what the script, which runs again, has not come to.
  fit() {
    clearTimeout(this.fitting);
    if (!this.drawn) return this.redraw();
    const isStale = () => hostOf(this.root)?.closest("[data-stale=true]");
    this.fitting = setTimeout(() => (isStale() ? this.fit() : this.redraw()), AT_REST);
  }

  redraw() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      const theme = readTheme(this.root);
      // Room that a vanished scroll bar left is not taken: the taller drawing would bring the bar back, and so on.
      const grown = this.root.clientWidth - this.width;
      const width = grown > 0 && grown < SCROLL_BAR ? this.width : this.root.clientWidth;
      const drawn = `${width} ${devicePixelRatio} ${theme.id}`;
      if (width === 0 || drawn === this.drawn || this.content === undefined) return;
      this.drawn = drawn;
      this.width = width;
      if (theme !== this.theme) this.wear(theme);
      this.component.draw?.(theme, width);
    });
  }

  watchPixelRatio() {
    this.pixelRatio = matchMedia(`(resolution: ${devicePixelRatio}dppx)`);
    this.pixelRatio.onchange = () => {
      this.watchPixelRatio();
      this.redraw();
    };
  }

  leave() {
    this.component.leave?.();
    this.link.leave();
    this.tellOfBars();
    this.menu.leave();
    this.tooltip.hide();
    this.announce("");
    this.resizing.disconnect();
    this.pixelRatio.onchange = null;
    if (this.frame !== null) cancelAnimationFrame(this.frame);
    this.frame = null;
    for (const timer of [this.fitting, this.reporting]) clearTimeout(timer);
    this.asking();
    this.root.remove();
  }
}
