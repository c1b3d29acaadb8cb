// Says in words, to those who do not see the page, that a run ended or was refused. Shows nothing.
class Announcer {
  listeners = {};

  /** @param {View} view */
  constructor(view) {
    this.live = view.live;
  }

  /** @param {{ text: string }} props of announcer/__init__.py */
  update({ text }) {
    this.live.textContent = text;
  }

  setValue() {}

  draw() {}
}
