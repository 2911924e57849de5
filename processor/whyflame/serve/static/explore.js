// The flame graph with its table, the frame that was chosen, and what lies behind it.

import { Latest, behindPath, filterQuery, profilePath } from "./ask.js";
import { announce, h } from "./dom.js";
import { Flame, facts } from "./flame.js";
import { brief, duration, figure, money, noun, percent, plural } from "./format.js";
import { viewOf } from "./question.js";
import { go, linkTo, state } from "./state.js";
import { SortedTable, swatch } from "./table.js";
import { Tree } from "./tree.js";

export class Explore {
  constructor(options) {
    this.options = options;
    this.profile = new Latest();
    this.sums = new Latest();
    this.below = new Latest();
    this.flame = new Flame({ label: "Flame graph", choose: (i) => this.#zoom(i), reset: () => this.#reset() });
    const pick = (flame) => (i) => go({ sandwich: flame().tree.label(i) });
    this.callers = new Flame({ label: "Callers", up: true, choose: pick(() => this.callers), reset: () => this.#reset() });
    this.callees = new Flame({ label: "Callees", choose: pick(() => this.callees), reset: () => this.#reset() });
    this.figures = h("dl", { class: "figures", "aria-label": "Totals" });
    this.crumbs = h("nav", { class: "crumbs", "aria-label": "Zoom" });
    this.search = h("input", { type: "search", placeholder: "Search frames   /", "aria-label": "Search frames", oninput: () => this.#searchSoon(), onkeydown: (event) => this.#searchKey(event) });
    this.result = h("output", { class: "found" });
    this.graph = h("div", { class: "graph" });
    this.legend = h("ul", { class: "legend", "aria-label": "Colours" });
    this.chosen = h("section", { class: "chosen", "aria-label": "Chosen frame", hidden: true });
    this.table = new SortedTable({
      label: "Frames", sort: "-total", key: (row) => row.name, pick: (row) => go({ sandwich: row.name }),
      changed: (sort) => go({ sort: sort === "-total" ? "" : sort }, { replace: true }),
      columns: [
        { key: "name", title: "Frame", isText: true, value: (row) => row.name.toLowerCase(), cell: (row) => h("div", { class: "named" }, swatch(row.colour), h("a", { href: linkTo({ sandwich: row.name }), title: row.name }, row.name)) },
        { key: "self", title: "Self", note: "in the frame itself", value: (row) => row.self, cell: (row) => this.#cell(row.self) },
        { key: "total", title: "Total", note: "with all below it, recursion counted once", value: (row) => row.total, cell: (row) => this.#cell(row.total) },
        { key: "share", title: "%", note: "share of all", value: (row) => row.total, cell: (row) => this.#share(row) },
      ],
    });
    this.body = h("div", { class: "explore" },
      h("section", { class: "panel flame-panel", "aria-label": "Flame graph" },
        h("div", { class: "panel-head" }, this.crumbs, h("div", { class: "search" }, this.result, this.search)),
        this.graph, this.legend),
      h("aside", { class: "side", "aria-label": "Frames" }, this.chosen, h("section", { class: "panel table-panel", "aria-label": "Table of frames" }, this.table.element)));
    this.place = h("div", {}, this.body);
    this.element = h("div", { class: "page" }, h("h1", { class: "visually-hidden" }, "Flame graph"), this.figures, this.place);
  }

  async show(now, { again }) {
    const view = viewOf(this.options, now), query = filterQuery({ ...now, where: [...view.where, ...now.where] });
    const totals = this.sums.ask(`/api/v1/totals?${query}`, { again });
    totals.catch(() => this.figures.replaceChildren());
    const data = await this.profile.ask(profilePath(now, "tree"), { again });
    if (this.data !== data) {
      this.data = data;
      this.tree = new Tree(data);
      this.rows = null;
    }
    // Put back only when an empty state took its place: moving it would lose the focus.
    if (!this.body.isConnected) this.place.replaceChildren(this.body);
    this.#draw(state());
    this.#showFigures(await totals);
  }

  showEmpty(content) { this.place.replaceChildren(content); }
  repaint() { for (const flame of [this.flame, this.callers, this.callees]) flame.draw(); }

  #draw(now) {
    const { tree } = this, found = tree.search(now.q), isSandwich = now.sandwich && tree.names.includes(now.sandwich);
    if (document.activeElement !== this.search) this.search.value = now.q;
    this.result.textContent = found ? (found.nodes.length ? `${plural(found.nodes.length, "frame")} · ${percent(found.share)}` : "no frame matches") : "";
    const zoomed = tree.find(now.frame);
    this.#showGraph(isSandwich ? now.sandwich : "", zoomed, found);
    this.#showCrumbs(now, isSandwich, zoomed);
    this.#showLegend();
    const wanted = now.q.trim().toLowerCase();
    this.rows ||= tree.rows();
    const rows = found ? this.rows.filter((row) => row.name.toLowerCase().includes(wanted)) : this.rows;
    this.table.show(rows, { by: now.sort || "-total", marked: isSandwich ? now.sandwich : zoomed ? tree.label(zoomed) : null });
    this.#showChosen(now, isSandwich, zoomed);
  }

  #showGraph(name, zoomed, found) {
    const { tree } = this;
    if (!name) {
      if (this.graph.firstChild !== this.flame.element) this.graph.replaceChildren(this.flame.element);
      const type = tree.types[0];
      this.flame.element.setAttribute("aria-label", `Flame graph of ${noun(type.name)}: ${plural(tree.count - 1, "frame")}, ${figure(tree.totals[0][0], type.unit)}. Arrow keys move, Enter zooms, Escape resets, slash searches`);
      this.flame.show(tree, zoomed, found);
      return;
    }
    if (this.around?.name !== name || this.around.tree !== tree)
      this.around = { name, tree, up: tree.around(name, true), down: tree.around(name, false) };
    if (this.graph.firstChild?.className !== "sandwich")
      this.graph.replaceChildren(h("div", { class: "sandwich" }, h("h2", {}, "Callers"), this.callers.element, h("h2", {}, "Callees"), this.callees.element));
    this.callers.show(this.around.up);
    this.callees.show(this.around.down);
  }

  #showCrumbs(now, isSandwich, zoomed) {
    const { tree } = this, all = h("a", { href: linkTo({ frame: [], sandwich: "" }), "aria-current": zoomed || isSandwich ? null : "true" }, "all");
    const parts = isSandwich ? [[`around ${now.sandwich}`, null]] : tree.trail(zoomed).map((name, index, trail) => [name, trail.slice(0, index + 1)]);
    this.crumbs.replaceChildren(h("ol", {}, h("li", {}, all), parts.map(([name, frame], index) => h("li", {},
      index === parts.length - 1 ? h("span", { "aria-current": "true", title: name }, name) : h("a", { href: linkTo({ frame }), title: name }, name)))));
  }

  #showLegend() {
    const present = new Set(this.tree.colours.slice(1).map((colour) => colour.split("-")[0]));
    const left = this.tree.left_out ? [h("li", { class: "left-out" }, `${plural(this.tree.left_out, "smallest frame")} left out`)] : [];
    this.legend.replaceChildren(...this.options.families.filter((family) => present.has(family.key)).map((family) => h("li", {}, swatch(`${family.key}-0`), family.label)), ...left);
  }

  #showFigures({ rows: [row], coverage }) {
    const known = row.input_tokens !== null || row.output_tokens !== null, tokens = known ? (row.input_tokens || 0) + (row.output_tokens || 0) : null;
    const exact = (value) => (value === null ? "not reported" : value.toLocaleString("en-US"));
    const cached = row.cache_read_tokens && row.input_tokens ? `${percent(row.cache_read_tokens / row.input_tokens)} of input from cache` : "";
    const items = [
      ["tokens", "Tokens", exact(tokens), known ? `${brief(row.input_tokens || 0)} in, ${brief(row.output_tokens || 0)} out` : ""],
      ["cached", "From cache", exact(row.cache_read_tokens), cached],
      ["cost", "Cost", row.cost_usd === null ? "unknown" : money(row.cost_usd), coverage.unpriced_calls ? `${plural(coverage.unpriced_calls, "call")} without a price` : row.cost_usd === null ? "" : "every call priced"],
      ["duration", "Self time", row.duration_seconds === null ? "unknown" : duration(row.duration_seconds), this.data && this.data.duration_ns !== "0" ? `within ${duration(Number(this.data.duration_ns) / 1e9)}` : ""],
      ["llm_calls", "Model calls", exact(row.llm_calls), `${exact(row.llm_errors)} failed`],
      ["tool_calls", "Tool calls", exact(row.tool_calls), `${exact(row.tool_errors)} failed`],
      ["sessions", "Sessions", exact(coverage.sessions), coverage.sessions_without_id ? `${exact(coverage.sessions_without_id)} without an id` : ""],
    ];
    this.figures.replaceChildren(...items.map(([key, name, value, note]) => h("div", {}, h("dt", {}, name), h("dd", { data: { figure: key } }, value), h("dd", { class: "note" }, note))));
  }

  #showChosen(now, isSandwich, zoomed) {
    const { tree } = this;
    this.chosen.hidden = !isSandwich && !zoomed;
    if (this.chosen.hidden) { this.chosenKey = null; return; }
    const from = isSandwich ? this.around.down : tree, node = isSandwich ? 0 : zoomed, name = from.label(node);
    const frame = isSandwich ? [name] : tree.trail(zoomed), key = JSON.stringify([frame, isSandwich, this.data && profilePath(now, "tree")]);
    const list = this.chosenKey === key && this.list ? this.list : (this.list = h("div", { class: "behind" }, h("p", { class: "quiet-text" }, "Looking for the sessions…")));
    const other = isSandwich ? h("a", { class: "button", href: linkTo({ sandwich: "", frame: [], q: name }) }, "Find in graph") : h("a", { class: "button", href: linkTo({ sandwich: name }) }, "Callers and callees");
    const trail = isSandwich ? "wherever it stands" : tree.trail(tree.parent[zoomed]).join(" › ");
    this.chosen.replaceChildren(...[
      h("div", { class: "chosen-head" }, h("h2", {}, swatch(from.colour(node)), name), h("button", { type: "button", class: "icon", "aria-label": "Close", onclick: () => this.#reset() }, "×")),
      trail ? h("p", { class: "trail" }, trail) : null, isSandwich ? this.#aroundFacts() : facts(tree, zoomed), h("div", { class: "actions" }, other), list].filter(Boolean));
    if (this.chosenKey !== key) {
      this.chosenKey = key;
      this.#showBehind(now, frame, isSandwich, list);
    }
  }

  #aroundFacts() {
    const around = this.around.down, all = Number(this.tree.totals[0][0]) || 1;
    const rows = around.types.map((type, k) => [noun(type.name), figure(around.totals[k][0], type.unit)]);
    rows.splice(1, 0, ["in itself", figure(around.selfs[0], around.types[0].unit)], ["share of all", percent(Number(around.totals[0][0]) / all)]);
    return h("dl", { class: "facts" }, rows.map(([term, value]) => [h("dt", {}, term), h("dd", {}, value)]));
  }

  async #showBehind(now, frame, anywhere, list) {
    let found;
    try { found = await this.below.ask(behindPath(now, { frame, limit: "6", ...(anywhere ? { anywhere: "true" } : {}) })); } catch (error) {
      if (error.name !== "AbortError") list.replaceChildren(h("p", { class: "quiet-text" }, error.message));
      return;
    }
    const many = found.rows.length + found.not_shown, context = anywhere ? { sandwich: frame[0], frame: [] } : { frame, sandwich: "" };
    list.replaceChildren(...[
      h("h3", {}, `Behind it: ${plural(many, "run")}`),
      h("ol", {}, found.rows.map((row) => h("li", {},
        h("a", { href: linkTo({ page: "session", session: row.session, ...context }) }, row.session),
        h("span", { class: "bar", style: { "--share": String(row[found.measure] / (found.rows[0][found.measure] || 1)) } }),
        h("span", { class: "number" }, brief(row[found.measure], found.unit))))),
      found.not_shown ? h("a", { href: linkTo({ page: "sessions", ...context }) }, `All ${plural(many, "run")}`) : null].filter(Boolean));
  }

  #cell(value) {
    const unit = this.tree.types[0].unit;
    return h("span", { class: Number(value) ? null : "quiet-text", title: figure(value, unit) }, brief(value, unit));
  }

  #share(row) {
    const share = Number(row.total) / (Number(this.tree.totals[0][0]) || 1);
    return h("span", { class: "share", style: { "--share": String(share) } }, percent(share).replace(" %", ""));
  }

  #zoom(i) { go({ frame: this.tree.trail(i), sandwich: "" }); }
  #reset() { go({ frame: [], sandwich: "" }); }

  #searchSoon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      go({ q: this.search.value }, { replace: true });
      announce(this.result.textContent);
    }, 150);
  }

  #searchKey(event) {
    if (event.key === "Escape") { this.search.value = ""; this.#searchSoon(); }
    if (event.key === "Enter") this.flame.element.focus();
  }
}

