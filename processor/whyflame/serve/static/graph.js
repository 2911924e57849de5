// The frame around a flame graph, shared by the graph's own page and the comparison: search, trail, side.

import { announce, h } from "./dom.js";
import { percent, plural } from "./format.js";
import { go, linkTo } from "./state.js";

const TYPING_MILLISECONDS = 150;

export class GraphPanel {
  // `focus` is called when Enter leaves the search; `side` are the elements beside the graph.
  constructor({ label, graph, legend, side, focus }) {
    this.focus = focus;
    this.crumbs = h("nav", { class: "crumbs", "aria-label": "Zoom" });
    this.search = h("input", {
      type: "search",
      placeholder: "Search frames   /",
      "aria-label": "Search frames",
      oninput: () => this.#searchSoon(),
      onkeydown: (event) => this.#searchKey(event),
    });
    this.result = h("output", { class: "found" });
    this.element = h(
      "div",
      { class: "explore" },
      h(
        "section",
        { class: "panel flame-panel", "aria-label": label },
        h(
          "div",
          { class: "panel-head" },
          this.crumbs,
          h("div", { class: "search" }, this.result, this.search),
        ),
        graph,
        legend,
      ),
      h("aside", { class: "side", "aria-label": "Frames" }, side),
    );
  }

  // What was searched for, and what of it the tree has.
  showFound(q, found) {
    if (document.activeElement !== this.search) this.search.value = q;
    this.result.textContent = found
      ? found.nodes.length
        ? `${plural(found.nodes.length, "frame")} · ${percent(found.share)}`
        : "no frame matches"
      : "";
  }

  // From the root to where one is: [text, what its link changes]; the last one is no link.
  showTrail(steps) {
    this.crumbs.replaceChildren(
      h(
        "ol",
        {},
        steps.map(([text, changes], index) =>
          h(
            "li",
            {},
            index === steps.length - 1
              ? h("span", { "aria-current": "true", title: text }, text)
              : h("a", { href: linkTo(changes), title: text }, text),
          ),
        ),
      ),
    );
  }

  #searchSoon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      go({ q: this.search.value }, { replace: true });
      announce(this.result.textContent);
    }, TYPING_MILLISECONDS);
  }

  #searchKey(event) {
    if (event.key === "Escape") {
      this.search.value = "";
      this.#searchSoon();
    }
    if (event.key === "Enter") this.focus();
  }
}

// The steps of a trail from the root down to a node.
export const trailTo = (names, more = {}) => [
  ["all", { frame: [], ...more }],
  ...names.map((name, index) => [name, { frame: names.slice(0, index + 1) }]),
];
