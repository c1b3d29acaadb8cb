// The time of a frame, which passes while one only looks on.
const TICK = 100; // milliseconds

class FrameClock {
  passed = 0; // milliseconds
  time = Infinity;
  isPaused = false;
  isDoing = false; // what the frame speaks of, on the page
  /** @type {Timer} */
  ticking;

  /** @param {HTMLElement} card @param {() => void} look at each tick @param {() => void} end of the frame's time */
  constructor(card, look, end) {
    this.card = card;
    this.look = look;
    this.end = end;
  }

  start() {
    this.isPaused = this.isDoing = false;
    this.ticking = setInterval(() => this.tick(), TICK);
  }

  stop() {
    clearInterval(this.ticking);
  }

  // A frame of so many seconds begins; one without an end waits.
  begin(seconds = Infinity) {
    this.passed = 0;
    this.time = 1000 * seconds;
  }

  // Whoever has asked for less motion goes on by hand, as does who points at the card, is on a button of it, or types.
  get isHeld() {
    const types = document.activeElement?.matches("input, textarea, select");
    const points = this.card.querySelector(":focus") || (HOVERS.matches && this.card.matches(":hover"));
    return this.isPaused || this.isDoing || QUIET.matches || document.hidden || types || Boolean(points);
  }

  tick() {
    if (this.time !== Infinity && !this.isHeld) this.passed += TICK;
    this.look(); // at what has passed: one that is paused does not move any more
    if (this.passed >= this.time) this.end();
  }

  get share() {
    return this.time === Infinity ? 1 : this.passed / this.time;
  }
}
