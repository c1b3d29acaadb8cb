// Put into every page before its own scripts: `settled()` says whether all that was begun there has been done. What the
// components and Streamlit have begun and not done yet can be seen nowhere, so it is counted where it is asked for: short
// timers, frames, tasks between React's renderings, and fetches.
(() => {
  const SOON = 300; // milliseconds: more than the 250 after which our components tell of a held key, and Streamlit's 200
  const DROPPED = 10_000; // milliseconds after which what was begun is taken as given up, and a question as unanswered
  const DROPPED_RUN = 30_000; // the same for a run, which a busy server begins late
  const LOOK = 1_000; // milliseconds of one look, in which the page may not come to rest
  const FRAMES = 4; // in which nothing is begun: what only comes into sight by the layout of one is drawn in the next
  const page = /** @type {any} */ (window); // which has what is added to it here, and its functions by their names
  const { setTimeout: later, requestAnimationFrame: frame } = window;
  const begun = {
    /** @type {Map<string | symbol | undefined, number>} */
    since: new Map(), // when each was begun
    /** @param {string | symbol} what */
    add(what) {
      this.since.set(what, performance.now());
    },
    /** @param {string | symbol | undefined} what */
    delete(what) {
      this.since.delete(what);
    },
    // What was begun long ago was given up without a word, as a message to a port that has been closed.
    isEmpty() {
      return [...this.since.values()].every((time) => performance.now() - time > DROPPED);
    },
  };

  /** @param {string} name @param {string} cancelling @param {(delay?: number) => boolean} isSoon */
  function count(name, cancelling, isSoon) {
    const [begin, cancel] = [page[name], page[cancelling]];
    page[name] = (/** @type {any} */ act, /** @type {any[]} */ ...rest) => {
      if (typeof act !== "function" || !isSoon(...rest)) return begin.call(window, act, ...rest);
      const done = (/** @type {any[]} */ ...given) => {
        begun.delete(`${name} ${id}`);
        return act(...given);
      };
      const id = begin.call(window, done, ...rest);
      begun.add(`${name} ${id}`);
      return id;
    };
    page[cancelling] = (/** @type {number} */ id) => {
      begun.delete(`${name} ${id}`);
      return cancel.call(window, id);
    };
  }
  count("setTimeout", "clearTimeout", (delay = 0) => delay <= SOON);
  count("requestAnimationFrame", "cancelAnimationFrame", () => true);
  count("requestIdleCallback", "cancelIdleCallback", () => true);

  window.MessageChannel = class extends MessageChannel {
    constructor() {
      super();
      for (const [port, other] of [[this.port1, this.port2], [this.port2, this.port1]]) {
        /** @type {symbol[]} */
        const sent = [];
        port.postMessage = (/** @type {any[]} */ ...message) => {
          const told = Symbol();
          sent.push(told);
          begun.add(told);
          return Reflect.apply(MessagePort.prototype.postMessage, port, message);
        };
        other.addEventListener("message", () => begun.delete(sent.shift())); // before who is to hear it
      }
    }
  };

  // An answer is done once it is read, which is asked for in the same task in which its beginning comes.
  const { arrayBuffer } = Response.prototype;
  /** @type {<Ask extends (...given: any[]) => Promise<any>>(ask: Ask) => Ask} */
  const counted = (ask) =>
    /** @type {any} */ (
      /** @this {unknown} @param {any[]} given */
      function (...given) {
        const question = Symbol();
        begun.add(question);
        return ask.apply(this, given).finally(() => begun.delete(question));
      }
    );
  window.fetch = counted(window.fetch);
  Response.prototype.arrayBuffer = counted(arrayBuffer);

  // Messages of Streamlit begin with their type's tag, behind those of a hash and of metadata where they have these.
  const [HASH, METADATA, NEW_SESSION, SCRIPT_FINISHED, RERUN_SCRIPT] = [0x0a, 0x12, 0x22, 0x30, 0x5a];
  const FINISHED_EARLY_FOR_RERUN = 2;
  /** @param {Uint8Array} message */
  function fromType(message) {
    let at = 0;
    while (message[at] === HASH || message[at] === METADATA) {
      let [length, shift] = [0, 0];
      do length |= (message[++at] & 0x7f) << shift;
      while (message[at] > 0x7f && (shift += 7));
      at += 1 + length;
    }
    return message.subarray(at);
  }

  // Whether the server has yet to answer what the page last told it, or to begin the run for which it ended one. A run that
  // the page asks for while another one ends begins only after that one's last message: it is answered where it begins.
  /** @type {number | null} */
  let asked = null;
  let isForRun = false;
  let isUnderWay = false; // a run, of which Streamlit's own state tells only by a later message
  let heard = 0;
  const listened = new WeakSet();
  const { send } = WebSocket.prototype;
  WebSocket.prototype.send = function (data) {
    const hear = (/** @type {MessageEvent<ArrayBuffer>} */ { data }) => {
      const [type, status] = fromType(new Uint8Array(data));
      if (!isForRun || type === NEW_SESSION) [asked, isForRun] = [null, false];
      if (type === SCRIPT_FINISHED && status === FINISHED_EARLY_FOR_RERUN) [asked, isForRun] = [performance.now(), true];
      if (type === NEW_SESSION || type === SCRIPT_FINISHED) isUnderWay = type === NEW_SESSION;
      heard += 1;
    };
    if (!listened.has(this)) {
      this.addEventListener("message", hear);
      this.addEventListener("close", () => (isUnderWay = false));
    }
    listened.add(this);
    page.socket = this;
    asked = performance.now();
    isForRun ||= /** @type {Uint8Array} */ (data)[0] === RERUN_SCRIPT;
    return send.call(this, data);
  };

  // Long work ends a script's run many times before it ends.
  const UNDER_WAY = "[data-testid=stSpinner], [data-testid=stProgress], [data-testid=stSkeleton], .js-plotly-plot:empty";
  /** @type {() => HTMLElement | null} */
  const findApp = () => document.querySelector("[data-testid=stApp]");

  function isQuiet() {
    const app = findApp();
    const isAsking = asked && performance.now() - asked < (isForRun ? DROPPED_RUN : DROPPED);
    const waits = heard === 0 || isAsking; // a page that opens has yet to be drawn
    if (app?.dataset.testScriptState !== "notRunning" || isUnderWay || waits || !begun.isEmpty()) return false;
    const components = [...app.querySelectorAll("[data-testid=stBidiComponentIsolated]")];
    const areThere = components.every((each) => each.shadowRoot?.querySelector(".headlight")); // each comes with its script
    return areThere && !app.querySelector(UNDER_WAY) && document.fonts.status === "loaded";
  }

  // What is waited for, to be told where a test gives up.
  page.unsettled = () => {
    const app = /** @type {HTMLElement} */ (findApp());
    const components = [...app.querySelectorAll("[data-testid=stBidiComponentIsolated]")];
    return {
      script: app.dataset.testScriptState,
      asked: asked && performance.now() - asked,
      isForRun,
      isUnderWay,
      begun: [...begun.since.keys()].map(String),
      heard,
      empty: components
        .filter((each) => !each.shadowRoot?.querySelector(".headlight"))
        .map((each) => each.closest("[class*=st-key-]")?.className),
      underWay: [...app.querySelectorAll(UNDER_WAY)].map((each) => each.outerHTML.slice(0, 200)),
      fonts: document.fonts.status,
    };
  };

  // A look goes on where the one before it ended: a tab that Chromium draws once a second has not as many frames in one.
  let [still, before] = [0, 0];
  page.settled = async () => {
    const end = performance.now() + LOOK;
    if (!still) before = heard;
    while (still < FRAMES) {
      if (performance.now() > end) return false;
      await new Promise((done) => frame.call(window, () => later.call(window, done)));
      [still, before] = isQuiet() && heard === before ? [still + 1, before] : [0, heard];
    }
    still = 0;
    return true;
  };
})();
