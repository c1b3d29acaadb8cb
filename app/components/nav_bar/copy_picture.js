// The page's picture to the clipboard; as a file where the browser has none for pictures, as on a page without https.
const SAID = 2500; // milliseconds, what became of it
const COPY = "Copy picture";

class CopyPicture {
  /** @type {string | null} */
  name = null; // by which the server has the picture

  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.button = buttonOf(COPY, () => this.copy());
    this.button.className = "copy";
    this.button.title = "The page's picture, 3200 by 1800 pixels, with what it shows as its title";
  }

  /** @param {string | null} name */
  offer(name) {
    this.name = name;
    this.button.hidden = name === null;
  }

  async copy() {
    this.button.disabled = true;
    this.button.textContent = "Drawing…";
    try {
      const picture = this.fetched(); // not awaited: the browser lets a click copy, and nothing after it
      if (!navigator.clipboard?.write || typeof ClipboardItem === "undefined") this.say(await this.save(await picture));
      else this.say(await navigator.clipboard.write([new ClipboardItem({ "image/png": picture })]).then(() => "Copied"));
    } catch {
      this.say("Not copied");
    }
  }

  // Rejected where the page has no picture.
  /** @returns {Promise<Blob>} */
  async fetched() {
    const bytes = await this.view.fetchBytes(`${this.name}/${this.view.theme.id === "dark" ? 1 : 0}`);
    if (bytes === null) throw new Error("no picture");
    const { header, start } = unpackHeader(bytes);
    const { values } = unpackArrays(bytes, header, start).png;
    return new Blob([/** @type {Uint8Array<ArrayBuffer>} */ (values)], { type: "image/png" });
  }

  /** @param {Blob} picture */
  save(picture) {
    const link = element("a");
    link.href = URL.createObjectURL(picture);
    link.download = "headlight.png";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), SAID);
    return "Saved";
  }

  /** @param {string} text */
  say(text) {
    this.button.disabled = false;
    this.button.textContent = text;
    this.view.announce(text);
    setTimeout(() => (this.button.textContent = COPY), SAID);
  }
}
