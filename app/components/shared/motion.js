// Motion, for who has not asked the system for less of it.
const QUIET = matchMedia("(prefers-reduced-motion: reduce)");
const [FLIGHT_TIME, FADE_TIME] = [350, 200]; // milliseconds

// Scrolls the page to the container that has this key, if there is one: to what a click has changed.
/** @param {string} [key] */
function scrollToKey(key) {
  const place = key && document.querySelector(`.st-key-${key}`);
  if (place) place.scrollIntoView({ block: "start", behavior: QUIET.matches ? "instant" : "smooth" });
}

/** @typedef {{ rect: DOMRect, picture: HTMLCanvasElement }} Crop a part of a canvas, and where it stands in the window */

// A part of a canvas, in its own pixels, as it is now.
/** @type {(canvas: HTMLCanvasElement, left?: number, top?: number, width?: number, height?: number) => Crop} */
function cropOf(canvas, left = 0, top = 0, width = canvas.width, height = canvas.height) {
  const frame = canvas.getBoundingClientRect();
  const picture = element("canvas");
  [picture.width, picture.height] = [width, height].map(Math.round);
  contextOf(picture).drawImage(canvas, left, top, width, height, 0, 0, picture.width, picture.height);
  const [x, y, across, down] = [left, top, width, height].map((length) => length / devicePixelRatio);
  return { rect: new DOMRect(frame.left + x, frame.top + y, across, down), picture };
}

// Has a picture move over the page to where it stands now, and then go. Resolves when it is there.
/** @param {Crop} crop @param {DOMRect} to */
async function fly({ rect: from, picture }, to, time = FLIGHT_TIME) {
  if (QUIET.matches) return;
  putOver(picture, to);
  const start = `translate(${from.left - to.left}px, ${from.top - to.top}px) scale(${from.width / to.width}, ${from.height / to.height})`;
  await play(picture, [{ transform: start }, { transform: "none" }], time);
}

// Has what is about to be drawn on a canvas come out from under what it shows now, if it is as large.
/** @param {HTMLCanvasElement} canvas */
async function fade(canvas) {
  const { rect, picture } = cropOf(canvas);
  if (QUIET.matches || !canvas.isConnected) return;
  putOver(picture, rect);
  await nextFrame();
  if (picture.width !== canvas.width || picture.height !== canvas.height) return picture.remove();
  putOver(picture, canvas.getBoundingClientRect());
  await play(picture, [{ opacity: 1 }, { opacity: 0 }], FADE_TIME);
}

/** @param {HTMLCanvasElement} picture @param {DOMRect} place */
function putOver(picture, { left, top, width, height }) {
  const [corner, size] = [`left: ${left}px; top: ${top}px`, `width: ${width}px; height: ${height}px`];
  picture.className = "flying";
  picture.style.cssText = `position: fixed; z-index: 999978; pointer-events: none; transform-origin: 0 0; ${corner}; ${size}`;
  document.body.append(picture);
}

/** @param {HTMLCanvasElement} picture @param {Keyframe[]} frames @param {number} time */
async function play(picture, frames, time) {
  await picture.animate(frames, { duration: time, easing: "ease-out" }).finished.catch(() => {}); // it has left the page
  picture.remove();
}
