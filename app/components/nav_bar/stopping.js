// A pressed Stop says so at once: the work ends at its next step, which may be seconds away, and the page is drawn then.
const STOPS = "[class*='st-key-headlight-stop_'] button";
const IS_STOPPING = "data-stopping"; // which style.css shows

/** @param {(text: string) => void} announce */
function tellOfStopping(announce) {
  document.addEventListener("click", ({ target }) => {
    if (!(target instanceof Element)) return;
    // What else is pressed may begin work anew under the same button.
    for (const stopping of document.querySelectorAll(`[${IS_STOPPING}]`)) stopping.removeAttribute(IS_STOPPING);
    const button = target.closest(STOPS);
    if (!button) return;
    button.setAttribute(IS_STOPPING, "");
    announce("Stopping…");
  });
}
