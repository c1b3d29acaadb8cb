// The page's own part: it unpacks the data and gives each component a place with its styles. The view's script then
// says in `start(parts)` which component stands where and who hears whom.
async function unpackedPage() {
  const packed = Uint8Array.from(atob(document.getElementById("data").textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const bytes = together(new Uint8Array(await new Response(stream).arrayBuffer()));
  const { header, start } = unpackHeader(bytes);
  const arrays = unpackArrays(bytes, header, start);
  return header.components.map((component, slot) => ({ component, data: arrays[slot].values }));
}

// Bytes in their order again, of which every fourth comes first and so on.
function together(apart) {
  const quarter = apart.length / 4;
  return apart.map((_, place) => apart[(place % 4) * quarter + Math.floor(place / 4)]);
}

// A titled place for one component. `show(data)` draws it, again and again; `heard` gets each value that it reports.
class Place {
  constructor(component, title, heard = () => {}) {
    this.mount = COMPONENTS[component];
    this.heard = heard;
    const section = element("section");
    if (title) section.append(element("h2", "", title));
    const host = element("div");
    const shadow = host.attachShadow({ mode: "open" });
    shadow.append(document.getElementById(component).content.cloneNode(true));
    this.parentElement = element("div");
    shadow.append(this.parentElement);
    section.append(host);
    this.section = section;
    PLACES.push(this);
  }

  show(data) {
    this.data = data;
    this.mount({
      parentElement: this.parentElement,
      data,
      setStateValue: (_, { value }) => this.heard(value),
    });
  }
}

const PLACES = [];
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const place of PLACES) if (place.data) place.show(place.data);
});

const page = document.querySelector("main");
unpackedPage().then((parts) => start(parts));
