// A picture that does not move, light or dark as the reader's theme is.
/** @typedef {{ title: string, light: string, dark: string }} StillProps of still/__init__.py */

/** @implements {Component} */
class Still {
  /** @param {View} view */
  constructor(view) {
    this.image = element("img");
    this.dark = element("source");
    this.dark.media = "(prefers-color-scheme: dark)";
    const picture = element("picture");
    picture.append(this.dark, this.image);
    view.root.append(picture);
  }

  /** @param {StillProps} props */
  update({ title, light, dark }) {
    this.image.alt = title;
    this.image.src = light;
    this.dark.srcset = dark;
  }

  setValue() {}

  draw() {}
}
