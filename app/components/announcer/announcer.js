// Says in words, to those who do not see the page, that a run ended or was refused. Shows nothing.
class Announcer {
  listeners = {};

  constructor(view) {
    this.live = view.live;
  }

  update({ text }) {
    this.live.textContent = text;
  }

  setValue() {}

  draw() {}
}

export default (component) => mountView(component, Announcer);
