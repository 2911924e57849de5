// The stack editor: which fields become frames, outermost first. Chips are dragged, or moved by keys.

import { announce, h, select } from "./dom.js";

const PRESETS = [
  ["agent,path,leaf", "agent › task › evidence"],
  ["root,path,leaf", "goal › task › evidence"],
  ["outcome,agent,path", "outcome › agent › task"],
  ["service,version,path", "service › version › task"],
  ["model,agent,path", "model › agent › task"],
  ["agent,path,token_kind", "agent › task › token kind"],
  ["path,agent,leaf", "task › agent › evidence"],
  ["session,path,leaf", "session › task › evidence"],
  ["agent,path,leaf,error_type", "agent › task › evidence › error"],
];

export class StackEditor {
  constructor({ fields, change }) {
    Object.assign(this, { fields, change, stack: [] });
    this.list = h("ol", { class: "stack", "aria-label": "Stack, outermost level first" });
    this.more = h("span", { class: "stack-more" });
    this.element = h(
      "div",
      { class: "stack-editor", role: "group", "aria-label": "Stack" },
      this.list,
      this.more,
    );
  }

  show(stack) {
    if (String(stack) === String(this.stack) && this.list.childElementCount) return;
    this.stack = stack;
    this.list.replaceChildren(...stack.map((name, index) => this.#chip(name, index)));
    const free = this.fields.filter((field) => !stack.includes(field.name));
    const written = stack.join(",");
    const preset = PRESETS.some(([value]) => value === written) ? written : "";
    this.more.replaceChildren(
      select(
        "Add a level to the stack",
        [["", "+ level"], ...free.map((field) => [field.name, field.name])],
        "",
        (name) => name && this.#set([...stack, name], name),
        { class: "quiet" },
      ),
      select(
        "Stack presets",
        [["", "own stack"], ...PRESETS],
        preset,
        (text) => text && this.change(text.split(",")),
        { class: "quiet presets" },
      ),
    );
  }

  #chip(name, index) {
    const doc = this.fields.find((field) => field.name === name)?.doc || "";
    return h(
      "li",
      {
        class: "chip level",
        draggable: "true",
        data: { index },
        ondragstart: (event) => {
          event.dataTransfer.setData("text/plain", String(index));
          event.dataTransfer.effectAllowed = "move";
        },
        ondragover: (event) => {
          event.preventDefault();
          event.currentTarget.classList.add("over");
        },
        ondragleave: (event) => event.currentTarget.classList.remove("over"),
        ondrop: (event) => {
          event.preventDefault();
          this.#move(Number(event.dataTransfer.getData("text/plain")), index);
        },
      },
      h(
        "button",
        {
          type: "button",
          class: "name",
          title: `${doc}\nDrag to move; ← → move it, Delete removes it`,
          "aria-label": `Level ${index + 1}: ${name}. Left and right arrow move it, Delete removes it`,
          onkeydown: (event) => this.#key(event, index),
        },
        name,
      ),
      h(
        "button",
        {
          type: "button",
          "aria-label": `Remove level ${name}`,
          disabled: this.stack.length === 1,
          onclick: () => this.#remove(index),
        },
        "×",
      ),
    );
  }

  #key(event, index) {
    if (event.key === "ArrowLeft") this.#move(index, index - 1);
    else if (event.key === "ArrowRight") this.#move(index, index + 1);
    else if (event.key === "Delete" || event.key === "Backspace") this.#remove(index);
    else return;
    event.preventDefault();
  }

  #move(from, to) {
    if (to < 0 || to >= this.stack.length || from === to || !(from in this.stack)) return;
    const stack = [...this.stack],
      [name] = stack.splice(from, 1);
    stack.splice(to, 0, name);
    this.#set(stack, name);
  }

  #remove(index) {
    if (this.stack.length > 1)
      this.#set(
        this.stack.filter((_, number) => number !== index),
        this.stack[index ? index - 1 : 1],
      );
  }

  // The chip that was worked on keeps the focus, although it is a new element.
  #set(stack, name) {
    this.change(stack);
    announce(`Stack: ${stack.join(", ")}`);
    this.list.children[stack.indexOf(name)]?.querySelector(".name").focus();
  }
}
