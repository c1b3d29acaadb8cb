// A question mark that explains what it stands beside, to the pointer, the finger and the keyboard.
class Explanation {
  title = "";
  help = "";

  /** @param {Tooltip} tooltip */
  constructor(tooltip) {
    const tell = () => tooltip.showBeside(this.mark, this.title, [["", this.help]]);
    this.mark = buttonOf("?", tell);
    this.mark.className = "explanation";
    this.mark.hidden = true;
    this.mark.onpointerenter = this.mark.onfocus = tell;
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
