// The buttons beside the legend: in, out, and what is shown of the whole. Their room is kept whatever they say, so that
// zooming moves no picture under the pointer.
class ZoomBar {
  /** @param {Heads} heads */
  constructor(heads) {
    this.heads = heads;
    this.box = element("div", "zoom-bar");
    this.into = buttonOf("+", () => heads.zoomStep(1));
    this.into.ariaLabel = this.into.title = "zoom in";
    this.out = buttonOf("−", () => heads.zoomStep(-1));
    this.out.ariaLabel = this.out.title = "zoom out";
    this.reset = buttonOf("", () => heads.zoomTo((zoom) => zoom.reset()));
    this.box.append(this.out, this.into, this.reset);
  }

  // Only where cells are small or something is zoomed already.
  draw() {
    const { zoom, layout, panels } = this.heads;
    const small = panels.length > 0 && layout.panel.matrix.width / zoom.sizes.key < SMALL_CELL;
    this.box.style.visibility = zoom.isWhole && !small ? "hidden" : "";
    this.reset.style.width = `${this.resetText(zoom.longestText).length}ch`;
    this.out.disabled = this.reset.disabled = zoom.isWhole;
    this.reset.textContent = zoom.isWhole ? "drag a rectangle to zoom" : this.resetText(zoom.text);
  }

  /** @param {string} text */
  resetText(text) {
    return `zoomed: ${text} · reset`;
  }
}
