// The page's own part: it unpacks the data and gives each component a place with its styles. The view's script then
// says in `start(parts)` which component stands where and who hears whom.
/**
 * @typedef {{ component: string, data: Uint8Array }} Part a component's folder and what it was mounted with
 * @returns {Promise<Part[]>}
 */
async function unpackedPage() {
  const packed = Uint8Array.from(atob(byId("data").textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const bytes = together(new Uint8Array(await new Response(stream).arrayBuffer()));
  const { header, start } = unpackHeader(bytes);
  const arrays = unpackArrays(bytes, header, start);
  /** @type {string[]} */
  const components = header.components;
  return components.map((component, slot) => ({ component, data: /** @type {Uint8Array} */ (arrays[slot].values) }));
}

/** @type {(id: string) => HTMLElement} */
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

// Bytes in their order again, of which every fourth comes first and so on.
/** @param {Uint8Array} apart */
function together(apart) {
  const quarter = apart.length / 4;
  return apart.map((_, place) => apart[(place % 4) * quarter + Math.floor(place / 4)]);
}

// A titled place for one component. `show(data)` draws it, again and again; `heard` gets each value that it reports.
class Place {
  /** @type {Uint8Array | undefined} */
  data;

  /** @param {string} component @param {string} [title] @param {(value: any) => void} heard */
  constructor(component, title, heard = () => {}) {
    this.mount = COMPONENTS[component];
    this.heard = heard;
    const section = element("section");
    if (title) section.append(element("h2", "", title));
    const host = element("div");
    const shadow = host.attachShadow({ mode: "open" });
    for (const styles of ["shared", component]) {
      shadow.append(/** @type {HTMLTemplateElement} */ (byId(styles)).content.cloneNode(true));
    }
    this.parentElement = element("div");
    shadow.append(this.parentElement);
    section.append(host);
    this.section = section;
    PLACES.push(this);
  }

  /** @param {Uint8Array} data */
  show(data) {
    this.data = data;
    this.mount({
      parentElement: this.parentElement,
      data,
      setStateValue: (_, { value }) => this.heard(value),
    });
  }
}

/** @type {Place[]} */
const PLACES = [];
const SYSTEM = matchMedia("(prefers-color-scheme: dark)");

// In a notebook's frame the theme is the notebook's, by the ground that it stands on; else the system's.
function isDarkHere() {
  for (let around = window.frameElement; around; around = around.parentElement) {
    const { backgroundColor } = getComputedStyle(around);
    if (backgroundColor !== "rgba(0, 0, 0, 0)") return isDark(resolveColour(backgroundColor));
  }
  return SYSTEM.matches;
}

function takeTheme() {
  const theme = isDarkHere() ? "dark" : "light";
  const { style } = document.documentElement;
  if (style.colorScheme === theme) return;
  style.colorScheme = theme;
  style.setProperty("--st-background-color", CONSTANTS.colours[theme].bg); // by which components tell it on Streamlit's page
  for (const place of PLACES) if (place.data) place.show(place.data);
}

takeTheme();
SYSTEM.addEventListener("change", takeTheme);
const notebook = window.frameElement?.ownerDocument;
for (const part of notebook ? [notebook.documentElement, notebook.body] : []) {
  new MutationObserver(takeTheme).observe(part, { attributes: true }); // where notebooks say that their theme changed
}

const page = /** @type {HTMLElement} */ (document.querySelector("main"));
unpackedPage().then((parts) => start(parts));
