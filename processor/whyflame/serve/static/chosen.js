// The chosen frame: its exact figures, and the runs it was summed from.

import { Latest, behindPath, profilePath } from "./ask.js";
import { h } from "./dom.js";
import { facts } from "./flame.js";
import { brief, figure, noun, percent, plural, readable } from "./format.js";
import { linkTo } from "./state.js";
import { swatch } from "./table.js";

export class Chosen {
  constructor({ close }) {
    this.close = close;
    this.latest = new Latest();
    this.element = h("section", { class: "chosen", "aria-label": "Chosen frame", hidden: true });
  }

  // Of a zoomed node, or of a name with all its callees merged (`around`).
  show({ now, tree, around, zoomed }) {
    const isSandwich = Boolean(around);
    this.element.hidden = !isSandwich && !zoomed;
    if (this.element.hidden) {
      this.key = null;
      return;
    }
    const from = isSandwich ? around.down : tree,
      node = isSandwich ? 0 : zoomed,
      name = from.label(node);
    const frame = isSandwich ? [name] : tree.trail(zoomed),
      key = JSON.stringify([frame, isSandwich, profilePath(now, "tree")]);
    const list =
      this.key === key && this.tree === tree
        ? this.list
        : (this.list = h(
            "div",
            { class: "behind" },
            h("p", { class: "quiet-text" }, "Looking for the sessions…"),
          ));
    const other = isSandwich
      ? h("a", { class: "button", href: linkTo({ sandwich: "", frame: [], q: name }) }, "Find in graph")
      : h("a", { class: "button", href: linkTo({ sandwich: name }) }, "Callers and callees");
    const trail = isSandwich ? "wherever it stands" : tree.trail(tree.parent[zoomed]).join(" › ");
    this.element.replaceChildren(
      ...[
        h(
          "div",
          { class: "chosen-head" },
          h("h2", {}, swatch(from.colour(node)), name),
          h("button", { type: "button", class: "icon", "aria-label": "Close", onclick: this.close }, "×"),
        ),
        trail ? h("p", { class: "trail" }, trail) : null,
        isSandwich ? aroundFacts(tree, around.down) : facts(tree, zoomed),
        h("div", { class: "actions" }, other),
        list,
      ].filter(Boolean),
    );
    if (this.key !== key || this.tree !== tree) {
      Object.assign(this, { key, tree });
      this.#showBehind(now, frame, isSandwich, list);
    }
  }

  async #showBehind(now, frame, anywhere, list) {
    let found;
    try {
      found = await this.latest.ask(
        behindPath(now, { frame, limit: "6", ...(anywhere ? { anywhere: "true" } : {}) }),
        { again: true },
      );
    } catch (error) {
      if (error.name !== "AbortError") list.replaceChildren(h("p", { class: "quiet-text" }, error.message));
      return;
    }
    const many = found.rows.length + found.not_shown,
      context = anywhere ? { sandwich: frame[0], frame: [] } : { frame, sandwich: "" };
    list.replaceChildren(
      ...[
        h("h3", {}, `Behind it: ${plural(many, "run")}`),
        h(
          "ol",
          {},
          found.rows.map((row) =>
            h(
              "li",
              {},
              h("a", { href: linkTo({ page: "session", session: row.session, ...context }) }, row.session),
              h("span", {
                class: "bar",
                style: { "--share": String(row[found.measure] / (found.rows[0][found.measure] || 1)) },
              }),
              h("span", { class: "number" }, brief(row[found.measure], found.unit)),
            ),
          ),
        ),
        found.not_shown
          ? h("a", { href: linkTo({ page: "sessions", ...context }) }, `All ${plural(many, "run")}`)
          : null,
      ].filter(Boolean),
    );
  }
}

function aroundFacts(tree, around) {
  const all = Number(tree.totals[0][0]) || 1;
  const rows = around.types.map((type, k) => [noun(type.name), readable(around.totals[k][0], type.unit)]);
  rows.splice(
    1,
    0,
    ["in itself", figure(around.selfs[0], around.types[0].unit)],
    ["share of all", percent(Number(around.totals[0][0]) / all)],
  );
  return h(
    "dl",
    { class: "facts" },
    rows.map(([term, value]) => [h("dt", {}, term), h("dd", {}, value)]),
  );
}
