// A picture that does not move, light or dark as the document is.
/** @typedef {{ title: string, light: string, dark: string }} StillProps of still/__init__.py */

/** @implements {Component} */
class Still {
  /** @param {View} view */
  constructor(view) {
    this.image = element("img");
    view.root.append(this.image);
  }

  /** @param {StillProps} props */
  update(props) {
    this.props = props;
  }

  setValue() {}

  /** @param {Theme} theme */
  draw({ id }) {
    if (!this.props) return;
    this.image.alt = this.props.title;
    this.image.src = this.props[/** @type {"light" | "dark"} */ (id)];
  }
}
