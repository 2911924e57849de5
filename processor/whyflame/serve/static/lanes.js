// Lanes of a run over time: nested intervals, and below them every operation.

import { h } from "./dom.js";
import { duration, figure } from "./format.js";

const ROW = 15,
  LABEL = 130,
  OPS = 12,
  GAP = 12;
const FONT =
  '11px "Inter", -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "Liberation Sans", Arial, sans-serif';
const colours = new Map();

// The palette's colour of a name, as the session's answer tells it.
export const colourOf = (name) => colours.get(name) || "base-0";

export function learnColours(told) {
  for (const name in told) colours.set(name, told[name]);
}

export class Lanes {
  constructor(run, isBehind) {
    Object.assign(this, { run, isBehind });
    this.canvas = h("canvas", {
      role: "img",
      "aria-label": `Lanes over time: ${run.lanes.map((lane) => lane.lane).join(", ")}. The same is listed below`,
    });
    this.tip = h("div", { class: "tip", hidden: true });
    this.element = h(
      "div",
      {
        class: "lanes",
        onmousemove: (event) => this.#hover(event),
        onmouseleave: () => {
          this.tip.hidden = true;
        },
      },
      this.canvas,
      this.tip,
    );
    new ResizeObserver(() => this.draw()).observe(this.element);
    const known = run.lanes
      .flatMap((lane) => lane.operations)
      .filter((op) => op.start_ns !== null && op.end_ns !== null);
    this.begin = known.reduce((least, op) => Math.min(least, op.start_ns), Infinity);
    this.length = Math.max(1, known.reduce((most, op) => Math.max(most, op.end_ns), 0) - this.begin);
  }

  draw() {
    const room = this.element.clientWidth;
    if (!room || !Number.isFinite(this.begin)) return;
    this.boxes = [];
    let y = 20;
    const blocks = this.run.lanes.map((lane) => {
      const intervals = intervalsOf(lane.operations),
        deep = intervals.reduce((most, item) => Math.max(most, item.level + 1), 0);
      const block = { lane, intervals, deep, y };
      y += deep * ROW + OPS + GAP;
      return block;
    });
    const density = devicePixelRatio || 1,
      context = this.canvas.getContext("2d");
    this.canvas.width = room * density;
    this.canvas.height = Math.min(32000, y * density);
    this.canvas.style.setProperty("height", y + "px");
    context.scale(density, density);
    context.font = FONT;
    context.textBaseline = "middle";
    const style = getComputedStyle(document.documentElement),
      colour = (name) => style.getPropertyValue("--" + name).trim();
    this.#axis(context, room, y, colour);
    for (const block of blocks) this.#block(context, room, block, colour);
  }

  #x(ns, room) {
    return LABEL + ((ns - this.begin) / this.length) * (room - LABEL - 2);
  }

  #axis(context, room, height, colour) {
    const steps = [
      0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 21600, 43200, 86400,
    ];
    const seconds = this.length / 1e9,
      most = Math.min(8, Math.max(2, (room - LABEL) / 64)),
      step = steps.find((item) => seconds / item <= most) || 86400;
    for (let at = 0; at <= seconds; at += step) {
      const x = Math.round(this.#x(this.begin + at * 1e9, room)) + 0.5;
      context.fillStyle = colour("line");
      context.fillRect(x, 16, 1, height - 16);
      context.fillStyle = colour("muted");
      if (x < room - 50)
        context.fillText(
          at
            ? `+${duration(at)
                .replace(/\.0 s/, " s")
                .replace(/ 0 s$/, "")
                .replace(/ 0 min$/, "")}`
            : "start",
          x + 3,
          8,
        );
    }
  }

  #block(context, room, { lane, intervals, deep, y }, colour) {
    context.fillStyle = colour("ink");
    context.fillText(
      cut(
        context,
        lane.lane === "main" ? lane.agent || "main" : `${lane.agent || "lane"} ${lane.lane.slice(0, 6)}`,
        LABEL - 12,
      ),
      0,
      y + ROW / 2,
    );
    for (const item of intervals) {
      const x = this.#x(item.start, room),
        w = Math.max(1, this.#x(item.end, room) - x - 1),
        top = y + item.level * ROW;
      context.fillStyle = colour(colourOf(item.name));
      context.fillRect(x, top, w, ROW - 1);
      this.boxes.push({
        x,
        y: top,
        w,
        h: ROW,
        title: item.name,
        lines: [
          ["lasted", duration((item.end - item.start) / 1e9)],
          ["tokens", figure(item.tokens, "count")],
        ],
      });
      const label = w > 20 ? cut(context, item.name, w - 8) : "";
      context.fillStyle = colour("text-on-frame");
      if (label) context.fillText(label, x + 4, top + ROW / 2);
    }
    for (const op of lane.operations) {
      if (op.start_ns === null || op.end_ns === null || op.kind === "agent") continue;
      const x = this.#x(op.start_ns, room),
        w = Math.max(1.5, this.#x(op.end_ns, room) - x - 0.5),
        top = y + deep * ROW,
        aside = this.isBehind(op, lane) === false;
      context.globalAlpha = aside ? 0.25 : 1;
      context.fillStyle = op.status === "error" ? colour("bad") : colour(colourOf(op.name || op.kind));
      context.fillRect(x, top, w, OPS - 2);
      context.globalAlpha = 1;
      this.boxes.push({
        x,
        y: top,
        w,
        h: OPS,
        title: op.name || op.kind,
        lines: [
          ["step", op.step ?? "–"],
          ["tokens", figure(op.tokens, "count")],
          ["self time", op.self_ns === null ? "unknown" : duration(op.self_ns / 1e9)],
          ...(op.status === "error" ? [["failed", op.error_type || "error"]] : []),
        ],
      });
    }
  }

  #hover(event) {
    const place = this.canvas.getBoundingClientRect(),
      x = event.clientX - place.left,
      y = event.clientY - place.top;
    const box = this.boxes?.findLast(
      (item) => x >= item.x - 1 && x <= item.x + item.w + 1 && y >= item.y && y < item.y + item.h,
    );
    this.tip.hidden = !box;
    if (!box) return;
    this.tip.replaceChildren(
      h("strong", {}, box.title),
      h(
        "dl",
        { class: "facts" },
        box.lines.map(([term, value]) => [h("dt", {}, term), h("dd", {}, String(value))]),
      ),
    );
    const size = this.tip.getBoundingClientRect();
    this.tip.style.setProperty("left", Math.min(event.clientX + 14, innerWidth - size.width - 8) + "px");
    this.tip.style.setProperty(
      "top",
      (event.clientY + size.height + 24 > innerHeight
        ? event.clientY - size.height - 12
        : event.clientY + 16) + "px",
    );
  }
}

// Contiguous operations with the same path prefix, at every level.
function intervalsOf(operations) {
  const found = [],
    open = [];
  for (const op of operations) {
    if (op.start_ns === null || op.end_ns === null || op.kind === "agent") continue;
    let same = 0;
    while (same < open.length && open[same].name === op.path[same]) same++;
    open.length = Math.min(open.length, same);
    for (let level = same; level < op.path.length; level++) {
      open.push({ name: op.path[level], level, start: op.start_ns, end: op.end_ns, tokens: null });
      found.push(open[level]);
    }
    for (const item of open) {
      item.start = Math.min(item.start, op.start_ns);
      item.end = Math.max(item.end, op.end_ns);
      if (op.tokens !== null) item.tokens = (item.tokens || 0) + op.tokens;
    }
  }
  return found;
}

function cut(context, text, room) {
  if (context.measureText(text).width <= room) return text;
  let letters = text.length;
  while (letters > 1 && context.measureText(text.slice(0, letters) + "…").width > room) letters--;
  return letters > 1 ? text.slice(0, letters) + "…" : "";
}
