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

  // A grid, large heatmaps, and any picture in sight: a canvas of ours or of a table.
  const PICTURES = { grid: ".board", heads: ".panel" };
  const inSight = (element) => {
    const { top, bottom } = element.getBoundingClientRect();
    return bottom > 0 && top < innerHeight;
  };
  const awaited = new Set();
  const painted = (canvas) => {
    if (canvas.matches(".marks")) return;
    if (awaited.size === 0) {
      afterPaint(() => {
        const drawn = [...awaited];
        awaited.clear();
        for (const [name, part] of Object.entries(PICTURES)) {
          if (drawn.some((canvas) => canvas.closest(part))) performance.mark(name);
        }
        if (drawn.some(inSight)) performance.mark("picture");
      });
    }
    awaited.add(canvas);
  };
  for (const method of ["putImageData", "drawImage", "fillRect"]) {
    const paint = CanvasRenderingContext2D.prototype[method];
    CanvasRenderingContext2D.prototype[method] = function (...rest) {
      paint.apply(this, rest);
      painted(this.canvas);
    };
  }

  // What is drawn without a canvas: lines of tokens, bars, rows, and what a page lacks or wants to be asked for.
  const ADDED = ".chips, .rows, .listed, .st-key-headlight-lacking, .st-key-headlight-look";
  const additions = new MutationObserver((changes) => {
    const added = changes.flatMap(({ addedNodes }) => [...addedNodes]).filter((node) => node instanceof Element);
    const drawn = added.flatMap((node) => [node.closest(ADDED), ...node.querySelectorAll(ADDED)]).filter(Boolean);
    if (drawn.length > 0) markNextFrame("picture", () => drawn.some(inSight));
  });
  const observe = (root) => additions.observe(root, { childList: true, subtree: true });
  observe(document);
  const { attachShadow } = Element.prototype;
  Element.prototype.attachShadow = function (options) {
    const root = attachShadow.call(this, options);
    observe(root);
    return root;
  };

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
