class Heading {
  listeners = {};

  constructor(view) {
    this.heading = element("h2");
    this.explanation = new Explanation(view.tooltip);
    const line = element("div", "line");
    line.append(this.heading, this.explanation.mark);
    view.root.prepend(line);
  }

  update({ text, help }) {
    this.heading.textContent = text;
    this.explanation.tell(text, help);
  }

  setValue() {}

  draw() {}
}

export default (component) => mountView(component, Heading);
