// Motion, for who has not asked the system for less of it.
const QUIET = matchMedia("(prefers-reduced-motion: reduce)");
const FLIGHT_TIME = 350; // milliseconds

/** @typedef {{ rect: DOMRect, picture: HTMLCanvasElement }} Crop a part of a canvas, and where it stands in the window */

// A part of a canvas, in its own pixels, as it is now.
/** @type {(canvas: HTMLCanvasElement, left: number, top: number, width: number, height: number) => Crop} */
function cropOf(canvas, left, top, width, height) {
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
  const { left, top, width, height } = to;
  const [place, size] = [`left: ${left}px; top: ${top}px`, `width: ${width}px; height: ${height}px`];
  picture.className = "flying";
  picture.style.cssText = `position: fixed; z-index: 999978; pointer-events: none; transform-origin: 0 0; ${place}; ${size}`;
  document.body.append(picture);
  const start = `translate(${from.left - left}px, ${from.top - top}px) scale(${from.width / width}, ${from.height / height})`;
  const flight = picture.animate([{ transform: start }, { transform: "none" }], { duration: time, easing: "ease-out" });
  await flight.finished.catch(() => {}); // it has left the page with this
  picture.remove();
}
