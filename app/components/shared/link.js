// Joins a group. `listeners` says what to do when another member sends a topic; `latest` is the last thing sent on one.
function joinGroup(name, listeners) {
  if (!PAGE.groups.has(name)) PAGE.groups.set(name, { members: new Set(), latest: new Map() });
  const { members, latest } = PAGE.groups.get(name);
  members.add(listeners);
  return {
    latest: (topic) => latest.get(topic) ?? null,
    // Returns what the others make of it.
    send(topic, value) {
      latest.set(topic, value);
      return [...members].filter((member) => member !== listeners).map((member) => member[topic]?.(value));
    },
    leave: () => members.delete(listeners),
  };
}
