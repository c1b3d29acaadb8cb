// What explains itself to the pointer, the finger and the keyboard: a label, by a dotted line under it.
class Explained {
  title = "";
  help = "";

  /** @param {Tooltip} tooltip @param {HTMLElement} mark */
  constructor(tooltip, mark) {
    this.mark = mark;
    mark.onclick = mark.onpointerenter = mark.onfocus = () => {
      if (this.help) tooltip.showBeside(mark, this.title, [["", this.help]]);
    };
    mark.onpointerleave = mark.onblur = tooltip.hide;
  }

  /** @param {string} title @param {string} help */
  tell(title, help) {
    Object.assign(this, { title, help });
    this.mark.classList.toggle("explained", Boolean(help));
    if (help) this.mark.tabIndex = 0;
    else this.mark.removeAttribute("tabindex");
  }
}

// A heading, by a question mark beside it.
class Explanation extends Explained {
  /** @param {Tooltip} tooltip */
  constructor(tooltip) {
    super(tooltip, buttonOf("?", () => {}));
    this.mark.className = "explanation";
    this.mark.hidden = true;
  }

  /** @param {string} title @param {string} help */
  tell(title, help) {
    Object.assign(this, { title, help });
    this.mark.hidden = !help;
    this.mark.ariaLabel = `What is “${title}”?`;
    this.mark.ariaDescription = help;
  }
}
