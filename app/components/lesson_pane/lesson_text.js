// What the pane is made of: paragraphs, fields, and what the browser keeps.
/** @type {(lesson: LessonEntry) => string} */
const idOf = ({ name, title }) => (name && !name.startsWith("~") ? name : title);

/** @type {(lesson: LessonEntry) => LessonProgress} */
function progressOf(lesson) {
  try {
    const kept = JSON.parse(keptItem(PROGRESS + idOf(lesson)) ?? "{}");
    return { at: Number.isInteger(kept.at) ? kept.at : 0, right: { ...kept.right } };
  } catch {
    return { at: 0, right: {} };
  }
}

// A browser that keeps nothing begins anew each time.
/** @type {(key: string) => string | null} */
function keptItem(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** @param {string} key @param {string} text */
function keepItem(key, text) {
  try {
    localStorage.setItem(key, text);
  } catch {
    // see above
  }
}

/** @type {(verdict: Verdict) => string} */
const sayVerdict = ({ right, text }) => (right === null ? text : right ? "Right." : "Not what the model says. Look again.");

/** @type {(error: string) => HTMLElement[]} */
const sayError = (error) => (error ? [element("p", "error", error)] : []);

/** @type {(text: LessonSpan[][]) => HTMLElement[]} */
const paragraphs = (text) => text.map(paragraph);

/** @param {LessonSpan[]} spans */
function paragraph(spans) {
  const isItem = spans[0]?.[0] === "" && spans[0][1].startsWith("- ");
  const made = element("p", isItem ? "item" : "");
  spans.forEach(([kind, text], at) => {
    const kept = text.replaceAll("“ ", "“\u00a0"); // of a token that begins with a space; no line ends in it
    const shown = isItem && at === 0 ? kept.slice(2) : kept;
    if (kind === "code") return made.append(element("code", "", shown));
    const parent = kind === "" ? made : element(kind === "em" ? "em" : "strong");
    parent.append(...withHeadButtons(shown));
    if (parent !== made) made.append(parent);
  });
  return made;
}

/** @param {HTMLButtonElement} button @param {string} name */
async function copyLink(button, name) {
  const before = button.textContent;
  const link = `${location.origin}${location.pathname}?${new URLSearchParams({ lesson: name })}`;
  try {
    await navigator.clipboard.writeText(link);
    button.textContent = "Copied";
  } catch {
    prompt("Copy this link:", link);
  }
  setTimeout(() => (button.textContent = before), 1500);
}

/** @param {string} text */
function download(text) {
  const link = element("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/markdown" }));
  link.download = "lesson.md";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** @param {string} name */
function line(name) {
  return Object.assign(element("input"), { type: "text", name, autocomplete: "off" });
}

/** @param {string} name @param {number} rows */
function area(name, rows) {
  return Object.assign(element("textarea"), { name, rows });
}

/** @param {string} text @param {HTMLElement} field */
function labelled(text, field) {
  const label = element("label", "field", text);
  label.append(field);
  return label;
}
