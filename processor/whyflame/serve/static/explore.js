// The flame graph with its table, the frame that was chosen, and what lies behind it.

import { Latest, filterQuery, profilePath } from "./ask.js";
import { Chosen } from "./chosen.js";
import { h } from "./dom.js";
import { figures } from "./figures.js";
import { Flame } from "./flame.js";
import { brief, figure, noun, percent, plural } from "./format.js";
import { GraphPanel, trailTo } from "./graph.js";
import { viewOf } from "./question.js";
import { go, linkTo, state } from "./state.js";
import { SortedTable, swatch } from "./table.js";
import { Tree } from "./tree.js";

export class Explore {
  constructor(options) {
    this.options = options;
    this.profile = new Latest();
    this.sums = new Latest();
    this.failures = new Latest();
    this.flame = new Flame({
      label: "Flame graph",
      choose: (i) => this.#zoom(i),
      reset: () => this.#reset(),
    });
    const pick = (flame) => (i) => go({ sandwich: flame().tree.label(i) });
    this.callers = new Flame({
      label: "Callers",
      up: true,
      choose: pick(() => this.callers),
      reset: () => this.#reset(),
    });
    this.callees = new Flame({
      label: "Callees",
      choose: pick(() => this.callees),
      reset: () => this.#reset(),
    });
    this.figures = h("dl", { class: "figures", "aria-label": "Totals" });
    this.graph = h("div", { class: "graph" });
    this.legend = h("ul", { class: "legend", "aria-label": "Colours" });
    this.chosen = new Chosen({ close: () => this.#reset() });
    this.table = new SortedTable({
      label: "Frames",
      sort: "-total",
      key: (row) => row.name,
      pick: (row) => go({ sandwich: row.name }),
      changed: (sort) => go({ sort: sort === "-total" ? "" : sort }, { replace: true }),
      columns: [
        {
          key: "name",
          title: "Frame",
          isText: true,
          value: (row) => row.name.toLowerCase(),
          cell: (row) =>
            h(
              "div",
              { class: "named" },
              swatch(row.colour),
              h("a", { href: linkTo({ sandwich: row.name }), title: row.name }, row.name),
            ),
        },
        {
          key: "self",
          title: "Self",
          note: "in the frame itself",
          value: (row) => row.self,
          cell: (row) => this.#cell(row.self),
        },
        {
          key: "total",
          title: "Total",
          note: "with all below it, recursion counted once",
          value: (row) => row.total,
          cell: (row) => this.#cell(row.total),
        },
        {
          key: "share",
          title: "%",
          note: "share of all",
          value: (row) => row.total,
          cell: (row) => this.#share(row),
        },
      ],
    });
    this.panel = new GraphPanel({
      label: "Flame graph",
      graph: this.graph,
      legend: this.legend,
      focus: () => this.flame.element.focus(),
      side: [
        this.chosen.element,
        h("section", { class: "panel table-panel", "aria-label": "Table of frames" }, this.table.element),
      ],
    });
    this.body = this.panel.element;
    this.place = h("div", {}, this.body);
    this.element = h(
      "div",
      { class: "page" },
      h("h1", { class: "visually-hidden" }, "Flame graph"),
      this.figures,
      this.place,
    );
  }

  async show(now, { again }) {
    const view = viewOf(this.options, now),
      query = filterQuery({ ...now, where: [...view.where, ...now.where] });
    const totals = this.sums.ask(`/api/v1/totals?${query}`, { again });
    totals.catch(() => this.figures.replaceChildren());
    const failed = this.#failing(query, again);
    const data = await this.profile.ask(profilePath(now, "tree"), { again });
    if (this.data !== data) {
      this.data = data;
      this.tree = new Tree(data);
      this.rows = null;
    }
    // Put back only when an empty state took its place: moving it would lose the focus.
    if (!this.body.isConnected) this.place.replaceChildren(this.body);
    this.#draw(state());
    this.figures.replaceChildren(...figures(await totals, data.duration_ns, await failed));
  }

  // Sums of the runs that failed; null where none did, or where outcomes are chosen already.
  async #failing(query, again) {
    if (query.getAll("where").some((item) => item.startsWith("outcome"))) return null;
    const asked = new URLSearchParams(query);
    asked.append("where", "outcome=failure");
    asked.set("coverage", "false");
    return this.failures.ask(`/api/v1/totals?${asked}`, { again }).catch(() => null);
  }

  showEmpty(content) {
    this.place.replaceChildren(content);
  }
  repaint() {
    for (const flame of [this.flame, this.callers, this.callees]) flame.draw();
  }

  #draw(now) {
    const { tree } = this,
      found = tree.search(now.q),
      isSandwich = now.sandwich && tree.names.includes(now.sandwich);
    this.panel.showFound(now.q, found);
    const zoomed = tree.find(now.frame);
    this.#showGraph(isSandwich ? now.sandwich : "", zoomed, found);
    const all = [["all", { frame: [], sandwich: "" }]];
    this.panel.showTrail(
      isSandwich ? [...all, [`around ${now.sandwich}`]] : trailTo(tree.trail(zoomed), { sandwich: "" }),
    );
    this.#showLegend();
    const wanted = now.q.trim().toLowerCase();
    this.rows ||= tree.rows();
    const rows = found ? this.rows.filter((row) => row.name.toLowerCase().includes(wanted)) : this.rows;
    this.table.show(rows, {
      by: now.sort || "-total",
      marked: isSandwich ? now.sandwich : zoomed ? tree.label(zoomed) : null,
    });
    this.chosen.show({ now, tree, around: isSandwich ? this.around : null, zoomed });
  }

  #showGraph(name, zoomed, found) {
    const { tree } = this;
    if (!name) {
      if (this.graph.firstChild !== this.flame.element) this.graph.replaceChildren(this.flame.element);
      const type = tree.types[0];
      this.flame.element.setAttribute(
        "aria-label",
        `Flame graph of ${noun(type.name)}: ${plural(tree.count - 1, "frame")}, ${figure(tree.totals[0][0], type.unit)}. Arrow keys move, Enter zooms, Escape resets, slash searches`,
      );
      this.flame.show(tree, zoomed, found);
      return;
    }
    if (this.around?.name !== name || this.around.tree !== tree)
      this.around = { name, tree, up: tree.around(name, true), down: tree.around(name, false) };
    if (this.graph.firstChild?.className !== "sandwich")
      this.graph.replaceChildren(
        h(
          "div",
          { class: "sandwich" },
          h("h2", {}, "Callers"),
          this.callers.element,
          h("h2", {}, "Callees"),
          this.callees.element,
        ),
      );
    this.callers.show(this.around.up);
    this.callees.show(this.around.down);
  }

  #showLegend() {
    const present = new Set(this.tree.colours.slice(1).map((colour) => colour.split("-")[0]));
    const left = this.tree.left_out
      ? [h("li", { class: "left-out" }, `${plural(this.tree.left_out, "smallest frame")} left out`)]
      : [];
    this.legend.replaceChildren(
      ...this.options.families
        .filter((family) => present.has(family.key))
        .map((family) => h("li", {}, swatch(`${family.key}-0`), family.label)),
      ...left,
    );
  }

  #cell(value) {
    const unit = this.tree.types[0].unit;
    return h(
      "span",
      { class: Number(value) ? null : "quiet-text", title: figure(value, unit) },
      brief(value, unit),
    );
  }

  #share(row) {
    const share = Number(row.total) / (Number(this.tree.totals[0][0]) || 1);
    return h(
      "span",
      { class: "share", style: { "--share": String(share) } },
      percent(share).replace(" %", ""),
    );
  }

  #zoom(i) {
    go({ frame: this.tree.trail(i), sandwich: "" });
  }
  #reset() {
    go({ frame: [], sandwich: "" });
  }
}
