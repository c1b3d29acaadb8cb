// The components in their order, beside one another where there is room; a table has its title above it.
/** @param {Part[]} parts */
function start(parts) {
  page.className = "plain";
  for (const { component, data } of parts) {
    const { props } = unpackHeader(data).header;
    const place = new Place(component, component === "row_table" ? props.title : "");
    place.section.className = component;
    place.section.style.setProperty("--columns", props.columns?.labels?.length ?? 0);
    page.append(place.section);
    place.show(data);
  }
}
