// Filters as chips, with completion: field, then operator, then the values that are there.

import { ask } from "./ask.js";
import { h } from "./dom.js";
import { brief } from "./format.js";

const OPERATORS = [
  ["=", "is"],
  ["!=", "is not"],
  ["=~", "matches the expression"],
  ["!~", "does not match"],
];
const WRITTEN = /^\s*([^\s=!~]+)\s*(=~|!~|!=|=)(.*)$/s;
let serial = 0;

export class Filters {
  // `label` names the group; `change` is told the new list.
  constructor({ label, fields, change, context = () => new URLSearchParams() }) {
    const id = `filters-${++serial}`;
    Object.assign(this, { fields, change, context, items: [], options: [], at: -1 });
    this.chips = h("span", { class: "chips" });
    this.list = h("ul", {
      class: "completion",
      id: `${id}-list`,
      role: "listbox",
      "aria-label": `${label}: suggestions`,
      hidden: true,
    });
    this.input = h("input", {
      type: "text",
      role: "combobox",
      "aria-label": label,
      "aria-expanded": "false",
      "aria-autocomplete": "list",
      "aria-controls": `${id}-list`,
      autocomplete: "off",
      spellcheck: "false",
      placeholder: "add a filter",
      oninput: () => this.#suggest(),
      onfocus: () => this.#suggest(),
      onkeydown: (event) => this.#key(event),
      onblur: () => setTimeout(() => this.#close(), 120),
    });
    this.element = h(
      "div",
      { class: "filters", role: "group", "aria-label": label },
      this.chips,
      h("span", { class: "combo" }, this.input, this.list),
    );
  }

  show(items, fixed = []) {
    this.items = items;
    this.chips.replaceChildren(
      ...fixed.map((text) => h("span", { class: "chip fixed", title: "part of the view" }, text)),
      ...items.map((text, index) =>
        h(
          "span",
          { class: "chip" },
          h("span", {}, text),
          h(
            "button",
            { type: "button", "aria-label": `Remove filter ${text}`, onclick: () => this.#remove(index) },
            "×",
          ),
        ),
      ),
    );
  }

  #remove(index) {
    this.change(this.items.filter((_, number) => number !== index));
    this.input.focus();
  }

  #add(text) {
    this.input.value = "";
    this.#close();
    if (!this.items.includes(text)) this.change([...this.items, text]);
  }

  async #suggest() {
    const text = this.input.value,
      written = WRITTEN.exec(text);
    this.at = -1;
    if (written) return this.#suggestValues(written);
    const word = text.trim().toLowerCase();
    const exact = this.fields.find((field) => field.name === word);
    if (exact)
      return this.#open(
        OPERATORS.map(([sign, meaning]) => ({ text: exact.name + sign, note: meaning, more: true })),
      );
    const near = this.fields.filter((field) => field.name.toLowerCase().includes(word));
    this.#open(near.map((field) => ({ text: field.name, note: field.doc, more: true })));
  }

  async #suggestValues([, field, sign, value]) {
    if (!this.fields.some((item) => item.name === field)) return this.#open([]);
    const query = this.context();
    query.set("field", field);
    query.set("contains", sign.endsWith("~") ? "" : value.trim());
    query.set("limit", "30");
    const asked = this.input.value;
    let found = { values: [] };
    try {
      found = await ask(`/api/v1/values?${query}`);
    } catch {
      /* no suggestions then */
    }
    if (this.input.value !== asked || document.activeElement !== this.input) return;
    const unknown = value ? [] : [{ text: field + sign, shown: "(unknown)", note: "no value reported" }];
    this.#open([
      ...found.values.map((item) => ({
        text: field + sign + item.value,
        shown: item.value,
        note: item.operations ? brief(item.operations, "count") : "",
      })),
      ...unknown,
    ]);
  }

  #open(options) {
    this.options = options;
    this.list.replaceChildren(
      ...options.map((option, index) =>
        h(
          "li",
          {
            role: "option",
            id: `${this.list.id}-${index}`,
            "aria-selected": "false",
            onmousedown: (event) => {
              event.preventDefault();
              this.#take(option);
            },
          },
          h("span", {}, option.shown || option.text),
          h("small", {}, option.note || ""),
        ),
      ),
    );
    this.list.hidden = !options.length;
    this.input.setAttribute("aria-expanded", String(Boolean(options.length)));
    this.input.removeAttribute("aria-activedescendant");
  }

  #close() {
    this.list.hidden = true;
    this.at = -1;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }

  #take(option) {
    if (!option.more) return this.#add(option.text);
    this.input.value = option.text;
    this.input.focus();
    return this.#suggest();
  }

  #mark(step) {
    if (this.list.hidden) return;
    const items = this.list.children,
      many = items.length;
    items[this.at]?.setAttribute("aria-selected", "false");
    this.at = (this.at + step + many + (this.at < 0 && step < 0 ? 1 : 0)) % many;
    items[this.at].setAttribute("aria-selected", "true");
    items[this.at].scrollIntoView({ block: "nearest" });
    this.input.setAttribute("aria-activedescendant", items[this.at].id);
  }

  #key(event) {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (this.list.hidden) this.#suggest();
      else this.#mark(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter" || (event.key === "Tab" && this.at >= 0)) {
      if (event.key === "Tab" || this.at >= 0 || this.input.value) event.preventDefault();
      if (this.at >= 0) this.#take(this.options[this.at]);
      else if (WRITTEN.test(this.input.value)) this.#add(this.input.value.trim());
      else if (this.options.length === 1) this.#take(this.options[0]);
    } else if (event.key === "Escape") {
      if (!this.list.hidden) event.stopPropagation();
      this.#close();
    } else if (event.key === "Backspace" && !this.input.value && this.items.length) {
      this.#remove(this.items.length - 1);
    }
  }
}
