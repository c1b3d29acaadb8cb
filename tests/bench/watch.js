// Marks, on the page's own clock, when the user did something and when the frame that answers it was on the screen.
(() => {
  // A message posted while a frame is prepared arrives when that frame has been painted.
  const afterPaint = (then) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = then;
    port2.postMessage(null);
  };
  const markNextFrame = (name, isThere) =>
    requestAnimationFrame(() => afterPaint(() => isThere() && performance.mark(name)));

  const PICTURES = { grid: ".board", heads: ".panel", steps: ".cards", lens: ".sheet:not(:has(.board))" };
  const awaited = new Set();
  const painted = (canvas) => {
    const name = Object.keys(PICTURES).find((name) => canvas.closest(PICTURES[name]));
    if (!name || awaited.has(name) || canvas.matches(".marks")) return;
    awaited.add(name);
    afterPaint(() => {
      awaited.delete(name);
      performance.mark(name);
    });
  };
  for (const method of ["putImageData", "drawImage", "fillRect"]) {
    const paint = CanvasRenderingContext2D.prototype[method];
    CanvasRenderingContext2D.prototype[method] = function (...rest) {
      paint.apply(this, rest);
      painted(this.canvas);
    };
  }

  const ADDED = { charts: "svg.main-svg", tables: "[data-testid=data-grid-canvas]" };
  new MutationObserver((changes) => {
    const added = changes.flatMap(({ addedNodes }) => [...addedNodes]).filter((node) => node instanceof Element);
    for (const [name, selector] of Object.entries(ADDED)) {
      if (added.some((node) => node.matches(selector) || node.querySelector(selector))) markNextFrame(name, () => true);
    }
  }).observe(document, { childList: true, subtree: true });

  const ringsIn = (board) => board?.querySelectorAll(".frames > .frame").length;
  addEventListener("click", (event) => performance.mark("click", { startTime: event.timeStamp }), true);
  addEventListener(
    "click",
    (event) => {
      const board = event.composedPath().find((element) => element.matches?.(".board"));
      const before = ringsIn(board);
      markNextFrame("ring", () => ringsIn(board) > before);
    },
    true,
  );
  addEventListener(
    "pointermove",
    (event) => {
      const panel = event.composedPath().find((element) => element.matches?.(".panel"));
      if (!panel) return;
      performance.mark("hover", { startTime: event.timeStamp });
      markNextFrame("crosshair", () => panel.getRootNode().querySelector(".tooltip:popover-open"));
    },
    true,
  );
})();
