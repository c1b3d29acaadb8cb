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

// A picture, and above it a canvas for the marks of what is pointed at, so that the picture is drawn once. The component
// says what is `under` the pointer, and does what is to be done where that changes (`point`), where it is nothing any more
// (`leave`), or a key is pressed (`press`).
/**
 * @template Place
 * @typedef {{ under: (event: PointerEvent) => Place | null, point: (place: Place | null, x: number, y: number) => void,
 *   leave: () => void, press: (event: KeyboardEvent) => void }} Pointed
 */
/** @template Place @param {Pointed<Place>} component */
function pointedStage(component) {
  const [stage, canvas, marks] = [element("div", "stage"), element("canvas"), element("canvas", "marks")];
  stage.append(canvas, marks);
  stage.tabIndex = 0;
  stage.setAttribute("role", "application");
  stage.onkeydown = (event) => component.press(event);
  stage.onblur = () => component.leave();
const point = (/** @type {PointerEvent} */ event) => component.point(component.under(event), event.clientX, event.clientY);
  [canvas.onpointermove, canvas.onclick] = [point, point]; // a finger does not move over it
  canvas.onpointerleave = () => component.leave();
  return { stage, canvas, marks };
}
