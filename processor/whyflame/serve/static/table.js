// A table that sorts by its columns; long ones show their first rows and say how many there are more.

import { h } from "./dom.js";

const FIRST = 100;

export class SortedTable {
  // `columns`: {key, title, cell(row), value(row), isText, isMinor, note}; minor ones have no room on a
  // phone; `label` is read out.
  constructor({ label, columns, sort, key, pick = null, changed = () => {} }) {
    Object.assign(this, { columns, pick, key, changed, shown: FIRST, rows: [], marked: null });
    this.by = sort;
    this.head = h("tr");
    this.body = h("tbody");
    this.more = h("div", { class: "more" });
    this.element = h(
      "div",
      { class: "table-frame", tabindex: "0", role: "region", "aria-label": label },
      h("table", {}, h("caption", { class: "visually-hidden" }, label), h("thead", {}, this.head), this.body),
      this.more,
    );
  }

  show(rows, { by = this.by, marked = null } = {}) {
    if (rows !== this.rows) this.shown = FIRST;
    Object.assign(this, { rows, marked });
    this.by = by && this.#column(by) ? by : this.by;
    this.#draw();
  }

  #column(by) {
    return this.columns.find((column) => column.key === by.replace(/^-/, ""));
  }

  #sorted() {
    const column = this.#column(this.by),
      sign = this.by.startsWith("-") ? -1 : 1,
      value = column.value;
    return [...this.rows].sort((a, b) => {
      const x = value(a),
        y = value(b);
      return x === y ? 0 : sign * (x < y ? -1 : 1);
    });
  }

  #draw() {
    const current = this.by.replace(/^-/, ""),
      isDown = this.by.startsWith("-");
    const at = [...this.head.children].findIndex((cell) => cell.contains(document.activeElement));
    this.head.replaceChildren(
      ...this.columns.map((column) =>
        h(
          "th",
          {
            scope: "col",
            class: classOf(column, ""),
            "aria-sort": column.key === current ? (isDown ? "descending" : "ascending") : null,
          },
          column.value
            ? h(
                "button",
                { type: "button", title: column.note, onclick: () => this.#sortBy(column) },
                column.title,
              )
            : column.title,
        ),
      ),
    );
    if (at >= 0) this.head.children[at]?.querySelector("button")?.focus();
    const sorted = this.#sorted();
    this.body.replaceChildren(...sorted.slice(0, this.shown).map((row) => this.#row(row)));
    const left = sorted.length - this.shown;
    this.more.replaceChildren(
      ...(left > 0
        ? [
            h(
              "button",
              {
                type: "button",
                class: "button",
                onclick: () => {
                  this.shown += 500;
                  this.#draw();
                },
              },
              `Show ${Math.min(500, left)} more of ${left.toLocaleString("en-US")}`,
            ),
          ]
        : []),
    );
  }

  #row(row) {
    const isMarked = this.marked !== null && this.key(row) === this.marked;
    return h(
      "tr",
      {
        class: isMarked ? "marked" : null,
        onclick:
          this.pick &&
          ((event) => {
            if (!event.target.closest("a, button")) this.pick(row);
          }),
      },
      this.columns.map((column) => h("td", { class: classOf(column, "text") }, column.cell(row))),
    );
  }

  #sortBy(column) {
    const same = this.by.replace(/^-/, "") === column.key;
    this.by = same
      ? this.by.startsWith("-")
        ? column.key
        : `-${column.key}`
      : column.isText
        ? column.key
        : `-${column.key}`;
    this.changed(this.by);
    this.#draw();
  }
}

const classOf = (column, text) =>
  `${column.isText ? text : "number"}${column.isMinor ? " minor" : ""}`.trim();

export const swatch = (colour) => h("i", { class: "swatch", style: { "--swatch": `var(--${colour})` } });
