// Makes a canvas so large in CSS pixels, empty, and sharp on every screen. Its context then counts in CSS pixels.
function sizedContext(canvas, width, height) {
  canvas.width = Math.round(width * devicePixelRatio);
  canvas.height = Math.round(height * devicePixelRatio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.scale(devicePixelRatio, devicePixelRatio);
  return context;
}

// Empty, and without any memory of its own.
function clearCanvas(canvas) {
  canvas.width = canvas.height = 0;
}
