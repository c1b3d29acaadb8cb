// Marks, on the page's own clock, when the user did something and when the frame that answers it was on the screen; and
// tells who measures of them, and of what is on the page, as `watched`.
(() => {
  const STILL = 200; // milliseconds after the script's end in which nothing more is drawn
  const GLANCE = 20; // milliseconds between looks, which take no frame
  const PATIENCE = 300_000; // milliseconds
  const FRAMES = 30; // that are scrolled at once

  // A message posted while a frame is prepared arrives when that frame has been painted.
  const afterPaint = (then) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = then;
    port2.postMessage(null);
  };
  const markNextFrame = (name, isThere) =>
    requestAnimationFrame(() => afterPaint(() => isThere() && performance.mark(name)));

  // A grid, large heatmaps, and any picture in sight: a canvas of ours.
  const PICTURES = { grid: ".board", heads: ".panel" };
  const inSight = (element) => {
    const { top, bottom } = element.getBoundingClientRect();
    return bottom > 0 && top < innerHeight;
  };
  const awaited = new Set();
  const TABLE = "[data-testid=stDataFrame]"; // Streamlit's, on canvases too
  const within = (node, selector) => {
    for (let at = node; at; at = at.getRootNode().host) if (at.closest(selector)) return true;
    return false;
  };
  // Anything drawn on the page, in sight or not.
  const markDrawn = (nodes) => {
    if (nodes.length > 0) performance.mark("whole");
  };
  const painted = (canvas) => {
    if (canvas.matches(".marks")) return;
    if (awaited.size === 0) {
      afterPaint(() => {
        const drawn = [...awaited];
        awaited.clear();
        for (const [name, part] of Object.entries(PICTURES)) {
          if (drawn.some((canvas) => canvas.closest(part))) performance.mark(name);
        }
        if (drawn.some((canvas) => inSight(canvas) && !within(canvas, TABLE))) performance.mark("picture");
        markDrawn(drawn.filter(({ isConnected }) => isConnected));
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

  // What is drawn without a canvas: lines of tokens, bars, rows, and what a page lacks or wants to be asked for; and
  // canvases that come back drawn.
  const ADDED = "canvas, .chips, .rows, .listed, [class*=st-key-headlight-missing], .st-key-headlight-look";
  const additions = new MutationObserver((changes) => {
    const added = changes.flatMap(({ addedNodes }) => [...addedNodes]).filter((node) => node instanceof Element);
    const drawn = added.flatMap((node) => [node.closest(ADDED), ...node.querySelectorAll(ADDED)]).filter(Boolean);
    const ours = drawn.filter((node) => !within(node, TABLE));
    if (ours.length > 0) markNextFrame("picture", () => ours.some(inSight));
    const plotted = added.map((node) => node.closest(".js-plotly-plot")).filter(Boolean);
    if (plotted.length > 0) markNextFrame("chart", () => plotted.some(inSight));
    const reworded = changes.filter(({ type }) => type === "characterData").map(({ target }) => target.parentElement);
    const onPage = [...added, ...reworded].filter((node) => node && within(node, "main, .js-plotly-plot"));
    if (onPage.length > 0) requestAnimationFrame(() => afterPaint(() => markDrawn(onPage)));
  });
  const roots = [];
  const observe = (root) => {
    roots.push(root);
    additions.observe(root, { childList: true, subtree: true, characterData: true });
  };
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

  let sent = 0; // bytes
  const { send } = WebSocket.prototype;
  WebSocket.prototype.send = function (data) {
    sent += data.byteLength ?? data.length;
    send.call(this, data);
  };

  const until = async (found) => {
    const giveUp = performance.now() + PATIENCE;
    for (;;) {
      const value = found();
      if (value) return value;
      if (performance.now() > giveUp) throw new Error(`Nothing came of ${found}`);
      await new Promise((done) => setTimeout(done, GLANCE));
    }
  };
  const last = (mark) => performance.getEntriesByName(mark).at(-1)?.startTime ?? 0;
  const still = () => {
    let busy = performance.now();
    return until(() => {
      const { testScriptState } = document.querySelector("[data-testid=stApp]")?.dataset ?? {};
      const runs = testScriptState !== "notRunning" && location.protocol !== "file:";
      const waits = document.querySelector("[data-testid=stSkeleton], .js-plotly-plot:empty");
      if (runs || waits) busy = performance.now();
      return performance.now() - Math.max(busy, last("picture"), last("chart"), last("whole")) > STILL;
    });
  };
  // All that match, also in components, and of these what has the text in a line of its own, if there is one.
  const all = (selector, text) => {
    const found = roots.filter(({ host }) => !host || host.isConnected).flatMap((root) => [...root.querySelectorAll(selector)]);
    return text ? found.filter(({ innerText }) => innerText.split("\n").includes(text)) : found;
  };
  const find = (selector, text) => until(() => all(selector, text)[0]);

  globalThis.watched = {
    last,
    still,
    find,
    sent: () => sent,
    texts: (selector) => all(selector).map(({ innerText }) => innerText),
    // When canvases and charts in sight were drawn last, once any is newer than `since` and the page is still.
    async answered(since) {
      const marks = ["picture", "chart"];
      await until(() => marks.some((mark) => last(mark) > since));
      await still();
      return Object.fromEntries(marks.map((mark) => [mark, last(mark)]));
    },
    async drawn(mark, since) {
      await until(() => last(mark) > since);
      await still();
      return last(mark);
    },
    // Where it is on the screen; scrolled there, if it was outside.
    async box(selector, text) {
      const element = await find(selector, text);
      element.scrollIntoView({ block: "nearest" });
      const { x, y, width, height } = element.getBoundingClientRect();
      return [x, y, width, height];
    },
    // Milliseconds from frame to frame while an element is scrolled by so many pixels at each.
    async scroll(selector, pixels) {
      const element = await find(selector);
      const frame = () => new Promise(requestAnimationFrame);
      const took = [];
      for (let before = await frame(); took.length < FRAMES; ) {
        element.scrollBy(0, pixels);
        const now = await frame();
        took.push(now - before);
        before = now;
      }
      return took;
    },
  };
})();
