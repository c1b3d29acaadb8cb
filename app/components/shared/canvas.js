// Makes a canvas so large in CSS pixels, empty, and sharp on every screen. Its context then counts in CSS pixels.
/** @type {(canvas: HTMLCanvasElement, width: number, height: number) => CanvasRenderingContext2D} */
function sizedContext(canvas, width, height) {
  canvas.width = Math.round(width * devicePixelRatio);
  canvas.height = Math.round(height * devicePixelRatio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = contextOf(canvas);
  context.scale(devicePixelRatio, devicePixelRatio);
  return context;
}

// Every canvas has one that asks for no other kind.
/** @type {(canvas: HTMLCanvasElement) => CanvasRenderingContext2D} */
const contextOf = (canvas) => /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));

// Empty, and without any memory of its own.
/** @param {HTMLCanvasElement} canvas */
function clearCanvas(canvas) {
  canvas.width = canvas.height = 0;
}
