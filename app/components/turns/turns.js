// The turns of a conversation: each with its role and its text, which are added, moved and taken out here, and what comes
// behind the last one. What is typed is told when the form is submitted.
const THOUGHTS = /** @type {const} */ ([["by default", null], ["on", true], ["off", false]]);

/** @typedef {{ role: string, content: string } & Record<string, unknown>} Message */
/** @typedef {"answer" | "continue" | "nothing"} Ending */
/** @typedef {{ messages: Message[], ending: Ending, thinks: boolean | null }} Chat */
/**
 * @typedef {{ title: string, chat: Chat, roles: string[], endings: Record<Ending, string>, mayThink: boolean,
 *   other: Message[] | null }} TurnsProps of turns/__init__.py
 */

/** @implements {Component} */
class Turns {
  /** @type {Chat} */
  chat = { messages: [], ending: "answer", thinks: null };
  /** @type {TurnsProps} */
  props;
  /** @type {TurnRow[]} */
  rows = [];

  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.list = element("div", "list");
    this.ending = element("select", "ending");
    this.ending.onchange = () => this.change({ ending: /** @type {Ending} */ (this.ending.value) });
    this.thinks = element("select", "thinks");
    this.thinks.append(...THOUGHTS.map(([text]) => new Option(text, text)));
    this.thinks.onchange = () => this.change({ thinks: THOUGHTS[this.thinks.selectedIndex][1] });
    this.thought = this.labelled("Thinking", this.thinks);
    const footer = element("div", "footer");
    const add = buttonOf("Add turn", () => this.add());
    add.className = "bordered";
    footer.append(add, this.labelled("Then", this.ending), this.thought);
    view.root.append(this.list, footer);
    view.root.setAttribute("role", "group");
  }

  /** @param {string} text @param {HTMLElement} control */
  labelled(text, control) {
    const label = element("label", "labelled", text);
    label.append(control);
    return label;
  }

  /** @param {TurnsProps} props */
  update(props) {
    this.props = props;
    this.view.root.ariaLabel = props.title;
    this.thought.hidden = !props.mayThink;
    this.ending.replaceChildren(...Object.entries(props.endings).map(([name, text]) => new Option(text, name)));
  }

  // What was typed last; null where an epoch begins, which ends what was not submitted.
  /** @param {Chat | null} typed */
  setValue(typed) {
    this.show(typed ?? this.props.chat);
  }

  /** @param {Chat} chat */
  show(chat) {
    this.chat = chat;
    const { messages } = chat;
    this.rows = messages.map((_, place) => this.rows[place] ?? new TurnRow(this));
    setChildren(this.list, this.rows.map(({ element }) => element));
    this.rows.forEach((row, place) => row.show(messages[place], place));
    this.ending.value = chat.ending;
    this.ending.options[1].disabled = messages[messages.length - 1].role !== "assistant"; // what goes on is an answer
    this.thinks.selectedIndex = THOUGHTS.findIndex(([, value]) => value === chat.thinks);
  }

  // A last turn of the model's goes on by itself, as any other is answered.
  /** @param {Partial<Chat>} changed */
  change(changed) {
    const before = this.chat;
    const chat = { ...before, ...changed };
    const [was, is] = [before, chat].map(({ messages }) => messages[messages.length - 1].role === "assistant");
    if (was !== is && chat.ending !== "nothing") chat.ending = is ? "continue" : "answer";
    this.show(chat);
    this.view.tell(chat); // in a form no message, so nothing to wait for
  }

  /** @param {number} place @param {Partial<Message>} changed */
  edit(place, changed) {
    const messages = this.chat.messages.map((message, at) => (at === place ? { ...message, ...changed } : message));
    this.change({ messages });
  }

  // The other one speaks.
  add() {
    const { messages } = this.chat;
    const role = messages[messages.length - 1].role === "user" ? "assistant" : "user";
    this.change({ messages: [...messages, { role, content: "" }] });
    this.rows[messages.length].focus();
  }

  /** @param {number} place */
  takeOut(place) {
    const { messages } = this.chat;
    if (messages.length < 2) return;
    this.change({ messages: messages.filter((_, at) => at !== place) });
    this.rows[Math.min(place, messages.length - 2)].focus();
    this.view.announce(`turn ${place + 1} removed`);
  }

  /** @param {number} place @param {1 | -1} by */
  move(place, by) {
    const messages = [...this.chat.messages];
    const to = place + by;
    if (to < 0 || to >= messages.length) return;
    [messages[place], messages[to]] = [messages[to], messages[place]];
    this.change({ messages });
    this.rows[to].focus();
    this.view.announce(`turn ${place + 1} is now turn ${to + 1}`);
  }

  /** @param {number} place */
  isNew(place) {
    return !isSame(this.chat.messages[place], this.props.chat.messages[place]);
  }

  // From the same turn of the prompt beside it.
  /** @param {number} place */
  differs(place) {
    return this.props.other !== null && !isSame(this.chat.messages[place], this.props.other[place]);
  }
}

/** @type {(one: Message | undefined, other: Message | undefined) => boolean} */
const isSame = (one, other) => one?.role === other?.role && one?.content === other?.content;

class TurnRow {
  place = 0;

  /** @param {Turns} turns */
  constructor(turns) {
    this.element = element("div", "turn");
    this.role = element("select", "role");
    this.role.onchange = () => turns.edit(this.place, { role: this.role.value });
    this.text = element("textarea");
    this.text.rows = 1;
    this.text.oninput = () => turns.edit(this.place, { content: this.text.value });
    this.text.onkeydown = (event) => this.press(event);
    this.up = buttonOf("↑", () => turns.move(this.place, -1));
    this.down = buttonOf("↓", () => turns.move(this.place, 1));
    this.out = buttonOf("×", () => turns.takeOut(this.place));
    const box = element("div", "box bordered");
    box.append(this.text);
    this.element.append(this.role, box, this.up, this.down, this.out);
    this.turns = turns;
  }

  // A text that is submitted by key is left, and no longer lies open over what it is answered with.
  /** @param {KeyboardEvent} event */
  press(event) {
    const { key, ctrlKey, metaKey, altKey } = event;
    if (key === "Enter" && (ctrlKey || metaKey)) setTimeout(() => this.text.blur());
    if (!altKey || !(key === "ArrowUp" || key === "ArrowDown")) return;
    event.preventDefault();
    this.turns.move(this.place, key === "ArrowUp" ? -1 : 1);
  }

  focus() {
    this.text.focus();
  }

  /** @param {Message} message @param {number} place */
  show({ role, content }, place) {
    const { props, chat } = this.turns;
    const number = place + 1;
    this.place = place;
    const roles = props.roles.includes(role) ? props.roles : [...props.roles, role];
    if (this.role.options.length !== roles.length || this.role.value !== role)
      this.role.replaceChildren(...roles.map((text) => new Option(text, text)));
    this.role.value = role;
    if (this.text.value !== content) this.text.value = content;
    this.role.ariaLabel = `Role of turn ${number}`;
    this.text.ariaLabel = `Turn ${number}`;
    this.text.placeholder = `What the ${role} says`;
    this.up.ariaLabel = this.up.title = `Move turn ${number} up`;
    this.down.ariaLabel = this.down.title = `Move turn ${number} down`;
    this.out.ariaLabel = this.out.title = `Remove turn ${number}`;
    this.up.disabled = place === 0;
    this.down.disabled = number === chat.messages.length;
    this.out.disabled = chat.messages.length < 2;
    this.element.toggleAttribute("data-not-run", this.turns.isNew(place));
    this.element.toggleAttribute("data-differs", this.turns.differs(place));
    this.element.dataset.role = role;
  }
}
