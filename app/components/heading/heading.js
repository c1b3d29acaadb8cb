/** @implements {Component} */
class Heading {
  text = "";

  /** @param {View} view */
  constructor(view) {
    this.heading = element("h2");
    this.explanation = new Explanation(view.tooltip);
    const line = element("div", "line");
    line.append(this.heading, this.explanation.mark);
    view.root.prepend(line);
  }

  /** @param {{ text: string, help: string, level: number }} props of heading/__init__.py */
  update({ text, help, level }) {
    this.heading.classList.toggle("page", level === 1);
    this.heading.classList.toggle("sentence", text.endsWith("."));
    this.text = text;
    this.nameHeads();
    this.explanation.tell(text, help);
  }

  nameHeads() {
    this.heading.replaceChildren(...withHeadButtons(this.text));
  }
}
