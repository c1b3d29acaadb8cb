// Lessons beside the page. What was answered rightly is kept in the browser, as is a draft; the server keeps the step.
const PROGRESS = "headlight.lesson."; // and the lesson's name
const DRAFT = "headlight.lesson-draft";
const NARROW = 960; // CSS pixels of a window in which the pane is a sheet over the page's lower half
const SHEET = 0.44; // of the window's height, as in the style sheets
const TURN_TIME = 800; // milliseconds in which most pages have been drawn
const LOOK_AGAIN = 300; // milliseconds, for a part of the page that is not there yet
const MOST_LOOKS = 60;
const MAX_FILE = 200_000; // bytes; longer ones are no lessons

/** @typedef {[kind: string, text: string]} LessonSpan */
/**
 * @typedef {{ title: string, text: LessonSpan[][], question: LessonSpan[], asks: string, answer: LessonSpan[][],
 *   hasPage: boolean, part: string }} LessonStep
 */
/**
 * @typedef {{ name: string, title: string, minutes: number, model: string, about: string, checks: number }} LessonEntry
 */
/** @typedef {LessonEntry & { steps: LessonStep[] }} ShownLesson */
/** @typedef {{ step: number, answer: string, right: boolean | null, text: string }} Verdict */
/**
 * @typedef {{ shows: string, shelf: LessonEntry[], lesson: ShownLesson | null, step: number, verdict: Verdict | null,
 *   answers: number, error: string, draft: string, share: string, offered: [check: string, meaning: string, isNumber: boolean][]
 * }} LessonPaneProps of lessons/pane.py
 */
/** @typedef {{ at: number, right: Record<string, boolean> }} LessonProgress by the number of a step */

const ASKS = { head: "A head, such as L1H1", token: "A token", number: "A number, such as 0.85 or 96%" };

/** @implements {Component} */
class LessonPane {
  /** @type {LessonPaneProps} */
  props;
  page = ""; // what is shown, so that another begins at its top
  opened = false; // its answer
  /** @type {Timer} */
  looking; // for the part of the page that a step speaks of

  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.form = new LessonForm((...said) => this.tell(...said));
    this.pane = element("aside", "pane");
    this.pane.hidden = true;
    this.pane.tabIndex = -1;
    this.pane.onkeydown = (event) => {
      if (event.key === "Escape") this.tell("close");
    };
    view.root.append(this.pane);
  }

  /** @param {LessonPaneProps} props */
  update(props) {
    this.props = props;
    const { shows, lesson, step } = props;
    const page = JSON.stringify([shows, lesson?.name, lesson?.title, step]);
    const isNew = page !== this.page;
    if (isNew) this.opened = false;
    this.page = page;
    this.pane.hidden = !shows;
    document.documentElement.classList.toggle("headlight-lesson", Boolean(shows));
    this.note();
    const scrolled = this.pane.scrollTop;
    if (shows === "write") this.form.update(props);
    if (shows === "write" && !isNew) return; // what is being typed stays
    const content = { list: () => this.list(), lesson: () => this.lesson(), write: () => this.write() };
    const hasKeyboard = this.pane.matches(":focus-within");
    const types = this.pane.querySelector("input:focus") !== null;
    this.pane.replaceChildren(...(content[/** @type {keyof typeof content} */ (shows)]?.() ?? []));
    if (hasKeyboard) this.goOn(isNew, types)?.focus({ preventScroll: true });
    this.pane.scrollTop = isNew ? 0 : scrolled;
    this.pane.ariaLabel = lesson ? `Lesson: ${lesson.title}` : "Lessons";
    clearTimeout(this.looking);
    if (isNew && lesson?.steps[step].hasPage) this.looking = setTimeout(() => this.show(lesson.steps[step].part), TURN_TIME);
    if (isNew && shows) this.view.announce(lesson ? `Step ${step + 1}: ${lesson.steps[step].title}` : "Lessons");
    if (props.verdict) this.view.announce(sayVerdict(props.verdict));
    if (props.error) this.view.announce(props.error);
  }

  // Where the keyboard goes on: after a right answer at the next step's button, after a wrong one where it was.
  /** @param {boolean} isNew @param {boolean} types @returns {HTMLElement | null} */
  goOn(isNew, types) {
    const { verdict } = this.props;
    if (isNew || !verdict) return this.pane;
    return this.pane.querySelector(verdict.right ? ".turn .primary" : types ? "form input" : "form .primary");
  }

  // Scrolls to the part of the page that a step speaks of, once it is there; without one to the page's beginning.
  /** @param {string} part */
  show(part, looks = MOST_LOOKS) {
    if (!part) return showBeginning();
    const heading = headingOf(part);
    if (heading) return heading.scrollIntoView({ block: "start" });
    if (looks > 0) this.looking = setTimeout(() => this.show(part, looks - 1), LOOK_AGAIN);
  }

  // What the server is told has a time, so that the same click counts twice.
  /** @param {...unknown} said */
  tell(...said) {
    this.view.tell([...said, Date.now()]);
  }

  // Keeps how far one has come.
  note() {
    const { lesson, step, verdict } = this.props;
    if (!lesson) return;
    const progress = progressOf(lesson);
    progress.at = step;
    if (verdict?.right) progress.right[verdict.step] = true;
    keepItem(PROGRESS + idOf(lesson), JSON.stringify(progress));
  }

  /** @param {string} title @param {HTMLElement[]} actions */
  head(title, ...actions) {
    const head = element("div", "head");
    const close = buttonOf("×", () => this.tell("close"));
    close.className = "close";
    close.ariaLabel = "Close the lessons";
    head.append(element("h2", "", title), ...actions, close);
    return head;
  }

  list() {
    const { shelf, error } = this.props;
    const file = element("input");
    file.type = "file";
    file.accept = ".md,text/markdown,text/plain";
    file.hidden = true;
    file.onchange = () => this.read(file);
    const open = buttonOf("Open a lesson's file", () => file.click());
    const write = buttonOf("Write a lesson", () => this.tell("write", keptItem(DRAFT) ?? ""));
    const actions = element("div", "actions");
    actions.append(open, write, file);
    const about = element("p", "muted", "Each step opens a page and asks a question. The model itself checks the answer.");
    return [this.head("Lessons"), about, ...shelf.map((each) => this.entry(each)), ...sayError(error), actions];
  }

  /** @param {LessonEntry} lesson */
  entry(lesson) {
    const { at, right } = progressOf(lesson);
    const done = Object.keys(right).length;
    const entry = buttonOf("", () => this.tell("open", lesson.name, at));
    entry.className = "entry";
    const facts = `${lesson.minutes} min · ${lesson.model}${done ? ` · ${done} of ${lesson.checks} right` : ""}`;
    entry.append(element("strong", "", lesson.title), element("span", "", lesson.about), element("span", "muted", facts));
    return entry;
  }

  /** @param {HTMLInputElement} input */
  async read(input) {
    const [file] = input.files ?? [];
    if (!file) return;
    const text = file.size <= MAX_FILE ? await file.text() : "x".repeat(MAX_FILE / 2); // which is too long
    this.tell("file", text.slice(0, MAX_FILE / 2));
  }

  lesson() {
    const { lesson, step, error } = this.props;
    if (!lesson) return [];
    const { steps } = lesson;
    const all = buttonOf("All lessons", () => this.tell("list"));
    const share = buttonOf("Copy link", () => copyLink(share, lesson.name));
    share.hidden = !lesson.name;
    share.title = "A link that opens this lesson, for a class";
    const now = steps[step];
    const again = buttonOf("Show this step's page again", () => this.tell("step", step));
    again.className = "quiet";
    again.hidden = !now.hasPage;
    const body = element("div", "body");
    body.append(element("h3", "", now.title), ...paragraphs(now.text), again, ...this.question(now));
    return [this.head(lesson.title, all, share), this.dots(lesson), body, ...sayError(error), this.turn(lesson)];
  }

  /** @param {ShownLesson} lesson */
  dots(lesson) {
    const { right } = progressOf(lesson);
    const dots = element("div", "dots");
    const marks = lesson.steps.map(({ title, asks }, at) => {
      const dot = buttonOf("", () => this.tell("step", at));
      dot.className = `dot${right[at] ? " right" : ""}`;
      dot.ariaLabel = dot.title = `Step ${at + 1}: ${title}${right[at] ? ", answered" : asks ? ", a question" : ""}`;
      if (at === this.props.step) dot.ariaCurrent = "step";
      return dot;
    });
    const done = Object.keys(right).length;
    dots.append(...marks, element("span", "muted score", lesson.checks ? `${done} of ${lesson.checks} right` : ""));
    return dots;
  }

  /** @param {LessonStep} step @returns {HTMLElement[]} */
  question(step) {
    if (step.question.length === 0) return [];
    const box = element("div", "question");
    box.append(paragraph(step.question));
    if (step.asks) box.append(this.answerForm(step));
    if (step.answer.length > 0) {
      const answer = element("div", "answer");
      answer.append(...paragraphs(step.answer));
      answer.hidden = !this.opened;
      const open = buttonOf(this.opened ? "Hide the answer" : "Show the answer", () => {
        this.opened = !this.opened;
        answer.hidden = !this.opened;
        open.textContent = this.opened ? "Hide the answer" : "Show the answer";
        open.ariaExpanded = String(this.opened);
      });
      open.className = "quiet";
      open.ariaExpanded = String(this.opened);
      box.append(open, answer);
    }
    return [box];
  }

  /** @param {LessonStep} step */
  answerForm(step) {
    const { lesson, step: at, verdict } = this.props;
    const wasRight = lesson && progressOf(lesson).right[at];
    const form = element("form");
    const input = element("input");
    input.type = "text";
    input.maxLength = 200;
    input.autocomplete = "off";
    input.placeholder = ASKS[/** @type {keyof typeof ASKS} */ (step.asks)];
    input.ariaLabel = "Your answer";
    input.value = verdict?.answer ?? "";
    const check = element("button", "primary", "Check");
    form.onsubmit = (event) => {
      event.preventDefault();
      if (!input.value.trim()) return;
      if (check.matches(":focus")) this.pane.focus({ preventScroll: true }); // a disabled button has no keyboard
      check.textContent = "Asking…";
      check.disabled = true;
      this.tell("check", input.value);
    };
    form.append(input, check);
    if (verdict) {
      const said = element("p", verdict.right ? "verdict right" : "verdict", sayVerdict(verdict));
      if (verdict.right) said.append(" ", ...withHeadButtons(verdict.text));
      form.append(said);
    } else if (wasRight) form.append(element("p", "muted", "You answered this correctly."));
    return form;
  }

  /** @param {ShownLesson} lesson */
  turn({ steps }) {
    const { step } = this.props;
    const isLast = step === steps.length - 1;
    const back = buttonOf("Back", () => this.tell("step", step - 1));
    const next = buttonOf(isLast ? "Done" : "Next", () => (isLast ? this.tell("list") : this.tell("step", step + 1)));
    back.disabled = step === 0;
    next.className = "primary";
    const count = element("span", "muted", `${step + 1} of ${steps.length}`);
    const turn = element("div", "turn");
    turn.append(back, count, next);
    return turn;
  }

  write() {
    const all = buttonOf("All lessons", () => this.tell("list"));
    return [this.head("Write a lesson", all), ...this.form.parts];
  }
}

// A sheet leaves no room for what stands above the page's picture, but for a question or a message about the step's link.
function showBeginning() {
  if (innerWidth > NARROW) return document.querySelector(".stMain")?.scrollTo(0, 0);
  const notices = '.st-key-headlight-link, [class*="st-key-headlight-refused"]';
  const notice = document.querySelector(notices);
  (notice ?? document.querySelector(".st-key-headlight-view"))?.scrollIntoView({ block: "start" });
  if (!notice) showPinned();
}

// Of a text that goes on under the sheet, the token that the step's link has pinned.
function showPinned() {
  const pinned = shadowsIn(".st-key-headlight-place-text").flatMap((root) => root.querySelector(".chip.pinned") ?? [])[0];
  const text = pinned?.closest(".body")?.getBoundingClientRect();
  if (text && text.bottom > (1 - SHEET) * innerHeight) pinned.scrollIntoView({ block: "center" });
}

// The components' shadow trees in a part of the page.
/** @param {string} place */
const shadowsIn = (place) => [...document.querySelectorAll(`${place} *`)].flatMap(({ shadowRoot }) => shadowRoot ?? []);

// The heading on the page that begins so, numbered or not; components have theirs in shadow trees.
/** @param {string} part */
function headingOf(part) {
  const headings = shadowsIn(".st-key-headlight-view").flatMap((root) => [...root.querySelectorAll("h2, h3, h4")]);
  return headings.find((heading) => (heading.textContent ?? "").replace(/^\d+\s+/, "").startsWith(part));
}
