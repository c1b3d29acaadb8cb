// Attention in 45 seconds, then a card in the corner and a frame around the part of the page that it speaks of. Nothing
// that can be clicked is covered.
const SEEN = "headlight.tour";
const OFTEN = 100; // milliseconds
const ATTENTION = "attention"; // the page that it is of
const LESSON = "induction"; // which begins where the first minute ends

const LONGEST_WAIT = 8000; // for a first picture; without one the steps begin

/**
 * @typedef {{ steps: [part: string, title: string, text: string][], requests: number, begins: boolean,
 *   minute: MinuteProps | null, isReady: boolean }} TourProps of tour/__init__.py
 */

/** @implements {Component} */
class Tour {
  listeners = {
    hover: (/** @type {Hovered | null} */ cell) => this.minute.point(Boolean(cell)),
    chosen: (/** @type {HeadIndex[] | null} */ heads) => heads && this.minute.opened(),
  };
  /** @type {number | null} */
  at = null; // the step that is shown
  requests = 0;
  /** @type {TourProps["steps"]} */
  steps = [];
  /** @type {Timer} */
  looking;
  /** @type {Timer} */
  waiting;
  isAsking = false; // for what is told of the run
  page = ""; // that was looked at last
  /** @type {Element | null} */
  before = null; // what had the keyboard when it was begun

  /** @param {View} view */
  constructor(view) {
    this.card = element("div", "card");
    this.card.setAttribute("role", "dialog");
    this.card.tabIndex = -1;
    this.frame = element("div", "frame");
    this.card.hidden = this.frame.hidden = true;
    this.card.onkeydown = (event) => {
      if (event.key === "Escape") this.end(); // braces: a handler that returns false swallows every other key, Tab too
    };
    this.look = () => (this.hasTurned() ? this.end() : this.place());
    this.view = view;
    this.minute = new FirstMinute(view, {
      end: () => this.end(),
      hasTurned: () => this.hasTurned(),
      more: () => (this.minute.close(), this.show(0), this.card.focus({ preventScroll: true })),
      open: (name) => view.tell(["example", name, Date.now()]),
      learn: () => view.tell(["lesson", LESSON, Date.now()]),
    });
    view.root.append(this.frame, this.card, ...this.minute.parts);
  }

  /** @param {TourProps} props */
  update({ steps, requests, begins, minute, isReady }) {
    this.steps = steps;
    if (this.minute.isOpen && !this.minute.tellsOf(minute)) this.end();
    const isOpen = this.at !== null || this.isAsking || this.minute.isOpen;
    if (requests > this.requests || (begins && !isOpen && !seen())) this.begin();
    this.requests = requests;
    if (!this.isAsking || !isReady) return;
    this.isAsking = false;
    if (minute) this.minute.start(minute);
    else this.showSteps();
  }

  showSteps() {
    this.show(0);
    beginAt(this.card);
  }

  // Once the picture is there, so that it comes no later for this.
  begin() {
    if (this.at !== null) this.end();
    this.page = pageNow();
    this.before = focused();
    const since = performance.now();
    clearInterval(this.waiting);
    this.waiting = setInterval(() => {
      const isLate = performance.now() - since > LONGEST_WAIT;
      if (!isLate && !stripParts().prediction) return;
      clearInterval(this.waiting);
      if (isLate) return this.showSteps();
      this.isAsking = true;
      this.view.tell(["begin", Date.now()]);
    }, OFTEN);
  }

  /** @param {number} at */
  show(at) {
    const begins = this.at === null;
    this.at = at;
    const [, title, text] = this.steps[at];
    const last = at === this.steps.length - 1;
    const count = element("span", "count", `${at + 1} of ${this.steps.length}`);
    const end = buttonOf("Close", () => this.end());
    const back = buttonOf("Back", () => this.show(at - 1));
    const next = buttonOf(last ? "Done" : "Next", () => (last ? this.end() : this.show(at + 1)));
    back.hidden = at === 0;
    end.hidden = last;
    next.className = "next";
    const buttons = element("div", "buttons");
    buttons.append(count, end, back, next);
    this.card.replaceChildren(element("strong", "", title), element("p", "", text), buttons);
    this.card.ariaLabel = `Tour, ${at + 1} of ${this.steps.length}: ${title}`;
    this.card.hidden = false;
    this.part()?.scrollIntoView({ block: "nearest" });
    if (begins) this.follow();
    this.place();
    if (at > 0) next.focus({ preventScroll: true });
  }

  part() {
    return this.at === null ? this.minute.part() : document.querySelector(`.st-key-${this.steps[this.at][0]}`);
  }

  // The part moves and grows with what is above it and in it, of which nothing tells: so it is looked at again and again.
  follow() {
    this.looking = setInterval(this.look, OFTEN);
    for (const event of ["scroll", "resize"]) addEventListener(event, this.look, true);
  }

  // Whether another page than Attention, which it is of, has been opened.
  hasTurned() {
    const before = this.page;
    this.page = pageNow();
    return this.page !== before && this.page !== ATTENTION;
  }

  place() {
    const box = this.part()?.getBoundingClientRect();
    this.frame.hidden = !box;
    if (!box) return;
    this.frame.style.translate = `${box.left - 6}px ${box.top - 6}px`;
    this.frame.style.width = `${box.width + 12}px`;
    this.frame.style.height = `${box.height + 12}px`;
  }

  // Has the keyboard go on where it was before, or at the part that was spoken of last.
  /** @param {Element | null} part */
  giveBack(part) {
    const wasSomewhere = this.before?.isConnected && this.before !== document.body;
    const stop = wasSomewhere ? this.before : firstStop(part);
    if (stop instanceof HTMLElement) stop.focus({ preventScroll: true });
  }

  end() {
    const hasKeyboard = [this.card, this.minute.card].some((card) => card.matches(":focus-within"));
    const part = this.part();
    this.at = null;
    this.minute.close();
    for (const timer of [this.looking, this.waiting]) clearInterval(timer);
    for (const event of ["scroll", "resize"]) removeEventListener(event, this.look, true);
    this.card.hidden = this.frame.hidden = true;
    if (hasKeyboard) this.giveBack(part);
    try {
      localStorage.setItem(SEEN, "seen");
    } catch {
      // A browser that keeps nothing shows the tour again next time.
    }
  }
}

// Has the keyboard begin at a card that has come by itself, unless it is at something already, such as what is typed.
/** @param {HTMLElement} card */
function beginAt(card) {
  if (document.activeElement === document.body) card.focus({ preventScroll: true });
}

const pageNow = () => new URLSearchParams(location.search).get("page") ?? ATTENTION;

function seen() {
  try {
    return localStorage.getItem(SEEN) !== null;
  } catch {
    return false;
  }
}
