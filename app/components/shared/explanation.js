// A question mark that explains what it stands beside, to the pointer, the finger and the keyboard.
class Explanation {
  title = "";
  help = "";

  /** @param {Tooltip} tooltip */
  constructor(tooltip) {
    this.mark = element("button", "explanation", "?");
    this.mark.type = "button";
    this.mark.hidden = true;
    const tell = () => {
      const { right, bottom } = this.mark.getBoundingClientRect();
      tooltip.show(right, bottom, this.title, [["", this.help]]);
    };
    this.mark.onpointerenter = this.mark.onfocus = this.mark.onclick = tell;
    this.mark.onpointerleave = this.mark.onblur = tooltip.hide;
  }

  /** @param {string} title @param {string} help */
  tell(title, help) {
    this.title = title;
    this.help = help;
    this.mark.hidden = !help;
    this.mark.ariaLabel = `What is “${title}”?`;
    this.mark.ariaDescription = help;
  }
}
