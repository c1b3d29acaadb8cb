/** @typedef {Record<Side, number>} Cell */
/** @typedef {Record<Side, number | null>} Hovered a cell, or a token of one side: the topic "hover" */
/** @typedef {Marks & { quiet?: boolean }} Pin the topic "pin"; of one that is quiet Python hears by itself */
/** @typedef {Record<string, (value: any) => unknown>} Listeners by topic */
/** @typedef {{ latest: (topic: string) => any, send: (topic: string, value: unknown) => unknown[], leave: () => void }} Link */

// Joins a group. `listeners` says what to do when another member sends a topic; `latest` is the last thing sent on one.
/** @type {(name: string, listeners: Listeners) => Link} */
function joinGroup(name, listeners) {
  const group = PAGE.groups.get(name) ?? { members: new Set(), latest: new Map() };
  PAGE.groups.set(name, group);
  const { members, latest } = group;
  members.add(listeners);
  return {
    latest: (topic) => latest.get(topic) ?? null,
    // Returns what the others make of it.
    send(topic, value) {
      latest.set(topic, value);
      return [...members].filter((member) => member !== listeners).map((member) => member[topic]?.(value));
    },
    leave: () => void members.delete(listeners),
  };
}
