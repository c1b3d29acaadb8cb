// Every component in a place of its own, one under the other.
/** @param {Part[]} parts */
function start(parts) {
  for (const { component, data } of parts) {
    const place = new Place(component);
    page.append(place.section);
    place.show(data);
  }
}
