// The form of a new step at the page that is open, and the text of all steps so far.
class LessonForm {
  /** @type {LessonPaneProps["offered"]} */
  offered = [];
  fields = {
    title: line("title"),
    part: line("part"),
    text: area("text", 4),
    question: area("question", 2),
    check: element("select"),
    shown: line("check"),
    tolerance: line("tolerance"),
    answer: area("answer", 2),
    draft: area("draft", 8),
  };
  error = element("div");
  actions = element("div", "actions");

  /** @param {(...said: unknown[]) => void} tell */
  constructor(tell) {
    this.tell = tell;
    const { title, part, text, question, check, shown, tolerance, answer, draft } = this.fields;
    check.ariaLabel = "Checked against";
    check.onchange = () => {
      shown.value = check.value;
      this.offerTolerance();
    };
    shown.oninput = () => this.offerTolerance();
    draft.onchange = () => this.tell("draft", draft.value);
    const add = buttonOf("Add this step", () => this.add());
    add.className = "primary";
    const about = "Turn the page to what a step should show, write the step, and add it. Do the same for the next one.";
    this.parts = [
      element("p", "muted", about),
      labelled("Title of the step", title),
      labelled("Heading on the page to scroll to, if not its top", part),
      labelled("Text: **bold**, *emphasis*, `code`", text),
      labelled("Question, if there is one", question),
      labelled("Checked against", check),
      labelled("As it is written in the file", shown),
      labelled("Tolerance of a number (±)", tolerance),
      labelled("Answer, shown on request", answer),
      add,
      this.error,
      labelled("The lesson so far, as a Markdown file", draft),
      this.actions,
    ];
  }

  /** @param {LessonPaneProps} props */
  update({ draft, share, error, offered }) {
    const { draft: whole, ...ofStep } = this.fields;
    if (draft !== whole.value) for (const field of Object.values(ofStep)) field.value = "";
    whole.value = draft;
    keepItem(DRAFT, draft);
    this.offer(offered);
    this.offerTolerance();
    this.error.replaceChildren(...sayError(error));
    const tryIt = buttonOf("Try it", () => this.tell("try"));
    const save = buttonOf("Download", () => download(draft));
    const copy = buttonOf("Copy the class's link", () => copyLink(copy, share));
    const anew = buttonOf("Begin anew", () => this.tell("draft", ""));
    for (const button of [tryIt, save, anew]) button.disabled = !draft;
    copy.disabled = !share;
    copy.title = share || !draft ? "" : "The lesson is too long for a link: give its file to the class.";
    this.actions.replaceChildren(tryIt, save, copy, anew);
  }

  /** @param {LessonPaneProps["offered"]} offered */
  offer(offered) {
    if (JSON.stringify(offered) === JSON.stringify(this.offered)) return;
    this.offered = offered;
    const options = offered.map(([value, meaning]) => Object.assign(element("option", "", meaning), { value }));
    const none = Object.assign(element("option", "", "nothing: a question to think about"), { value: "" });
    this.fields.check.replaceChildren(none, ...options);
  }

  offerTolerance() {
    const { shown, tolerance } = this.fields;
    const name = shown.value.trim().split(/\s/)[0];
    const isNumber = this.offered.some(([check, , number]) => number && check.startsWith(`${name} `));
    tolerance.disabled = !isNumber;
    if (isNumber && !tolerance.value) tolerance.value = "0.02";
  }

  add() {
    const { title, part, text, question, shown, tolerance, answer } = this.fields;
    this.tell("add", title.value, part.value, text.value, question.value, shown.value.trim(), tolerance.value, answer.value);
  }
}
