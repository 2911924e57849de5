// The flame graph on a canvas: draws what is wide enough to see, answers mouse and keyboard.

import { announce, h } from "./dom.js";
import { figure, noun, percent, plural, readable, signed } from "./format.js";

const LEAST = 0.6,
  PAD = 6;
// Shallow graphs get taller rows: easier to read and to hit.
const ROWS = [
  [9, 30],
  [16, 26],
  [Infinity, 21],
];
const FONT =
  '12px "Inter", -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "Liberation Sans", Arial, sans-serif';
const pen = document.createElement("canvas").getContext("2d");
pen.font = FONT;
const widths = new Map();

function textWidth(text) {
  let width = widths.get(text);
  if (width === undefined) {
    if (widths.size > 20000) widths.clear();
    widths.set(text, (width = pen.measureText(text).width));
  }
  return width;
}

function fit(text, room) {
  if (room < 16) return "";
  const width = textWidth(text);
  if (width <= room) return text;
  let letters = Math.floor((text.length * room) / width) - 1;
  while (letters > 1 && textWidth(text.slice(0, letters) + "…") > room) letters--;
  return letters > 1 ? text.slice(0, letters) + "…" : "";
}

export class Flame {
  // `up` draws the root at the bottom; `choose` is told which node was asked for.
  constructor({ label, up = false, choose, reset = () => {}, describe = null, isFaint = () => false }) {
    this.up = up;
    this.choose = choose;
    this.describe = describe;
    this.isFaint = isFaint;
    this.tree = null;
    this.zoomed = this.focused = 0;
    this.found = null;
    this.boxes = [];
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.cursor = h("div", { class: "flame-cursor", hidden: true });
    this.ring = h("div", { class: "flame-ring", hidden: true });
    this.tip = h("div", { class: "tip", role: "presentation", hidden: true });
    this.element = h(
      "div",
      {
        class: "flame",
        tabindex: "0",
        role: "application",
        "aria-roledescription": "flame graph",
        "aria-label": label,
        onmousemove: (event) => this.#hover(event),
        onmouseleave: () => this.#leave(),
        onclick: (event) => this.#click(event),
        onkeydown: (event) => this.#key(event, reset),
        onfocus: () => this.#showFocus(),
        onblur: () => {
          this.ring.hidden = true;
          this.#leave();
        },
      },
      this.canvas,
      this.cursor,
      this.ring,
      this.tip,
    );
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  show(tree, zoomed = 0, found = null) {
    if (tree !== this.tree || zoomed !== this.zoomed) this.focused = zoomed;
    Object.assign(this, { tree, zoomed, found });
    this.draw();
    if (document.activeElement === this.element) this.#showFocus(false);
  }

  draw() {
    const tree = this.tree,
      room = this.element.clientWidth;
    if (!tree || !room) return;
    const began = performance.now();
    const boxes = this.#layout(room);
    const deepest = boxes.reduce((most, box) => Math.max(most, box.row), 0);
    const ROW = (this.row = ROWS.find(([levels]) => deepest < levels)[1]);
    const height = (this.height = (deepest + 1) * ROW),
      density = devicePixelRatio || 1;
    this.canvas.width = Math.round(room * density);
    this.canvas.height = Math.min(32000, Math.round(height * density));
    this.canvas.style.setProperty("height", height + "px");
    const context = this.canvas.getContext("2d");
    context.scale(density, density);
    context.font = FONT;
    context.textBaseline = "middle";
    const style = getComputedStyle(document.documentElement),
      colours = new Map();
    const colour = (name) => {
      let value = colours.get(name);
      if (!value) colours.set(name, (value = style.getPropertyValue("--" + name).trim()));
      return value;
    };
    for (const box of boxes) this.#paint(context, box, colour);
    this.boxes = boxes;
    this.byRow = [];
    for (const box of boxes) (this.byRow[box.row] ||= []).push(box);
    this.element.dataset.frames = tree.count - 1;
    this.element.dataset.drawn = boxes.length;
    this.element.dataset.row = ROW;
    this.element.dataset.milliseconds = Math.round(performance.now() - began);
    this.cursor.hidden = true;
  }

  // Boxes in pixels; neighbours too narrow to see become one.
  #layout(room) {
    const tree = this.tree,
      zoomed = this.zoomed,
      boxes = [];
    for (let at = tree.parent[zoomed]; at >= 0; at = tree.parent[at])
      boxes.push({ i: at, row: tree.depth[at], x: 0, w: room, above: true });
    const scale = room / (tree.width[zoomed] || 1),
      origin = tree.start[zoomed],
      strips = [];
    for (let i = zoomed; i < tree.end[zoomed];) {
      const x = (tree.start[i] - origin) * scale,
        w = tree.width[i] * scale,
        row = tree.depth[i];
      if (w >= LEAST) {
        boxes.push({ i, row, x, w });
        i++;
        continue;
      }
      const strip = strips[row];
      if (strip && strip.parent === tree.parent[i] && x - (strip.x + strip.w) < 0.5) {
        strip.w = x + w - strip.x;
        strip.many++;
      } else {
        boxes.push((strips[row] = { i, row, x, w, many: 1, parent: tree.parent[i] }));
      }
      i = tree.end[i];
    }
    return boxes;
  }

  y(row) {
    return this.up ? this.height - (row + 1) * this.row : row * this.row;
  }

  #paint(context, box, colour) {
    const { i, x, w } = box,
      tree = this.tree,
      ROW = this.row,
      y = this.y(box.row);
    const width = Math.max(w - (w > 3 ? 1 : 0), 0.5);
    const missed = this.found && !box.above && !box.many && !this.found.is[i];
    context.globalAlpha = box.above ? 0.5 : missed && i ? 0.32 : 1;
    context.fillStyle = colour(box.many ? "narrow" : tree.isDiff ? `diff-${tree.step(i)}` : tree.colour(i));
    if (w > 10) {
      context.beginPath();
      context.roundRect(x, y, width, ROW - 1, 3);
      context.fill();
    } else context.fillRect(x, y, width, ROW - 1);
    if (!box.many && w > 4 && this.isFaint(i)) this.#hatch(context, x, y, width, colour("sheet"));
    if (this.found && this.found.is[i] && !box.many) {
      context.strokeStyle = colour("match");
      context.lineWidth = 1.5;
      if (w > 4) context.strokeRect(x + 0.75, y + 0.75, width - 1.5, ROW - 2.5);
    }
    if (box.many || w < 24) return;
    const share = w > 190 && !tree.isDiff ? percent(tree.width[i]) : "";
    const label = fit(tree.label(i), w - 2 * PAD - (share ? 54 : 0));
    if (!label) return;
    context.globalAlpha = missed && i ? 0.55 : 1;
    context.fillStyle = colour("text-on-frame");
    context.fillText(label, x + PAD, y + ROW / 2);
    if (share) {
      context.globalAlpha *= 0.72;
      context.textAlign = "right";
      context.fillText(share, x + width - PAD, y + ROW / 2);
      context.textAlign = "left";
    }
  }

  // Thin stripes over a frame that may be noise.
  #hatch(context, x, y, width, ground) {
    const high = this.row - 1;
    context.save();
    context.beginPath();
    context.rect(x, y, width, high);
    context.clip();
    context.beginPath();
    // Stripes lie on one grid, so that they run on from frame to frame.
    for (let at = Math.floor((x - high) / 7) * 7; at < x + width; at += 7) {
      context.moveTo(at, y + high);
      context.lineTo(at + high, y);
    }
    context.globalAlpha *= 0.45;
    context.strokeStyle = ground;
    context.lineWidth = 1.5;
    context.stroke();
    context.restore();
  }

  #at(event) {
    const place = this.canvas.getBoundingClientRect();
    const x = event.clientX - place.left,
      y = event.clientY - place.top;
    const row = Math.floor((this.up ? this.height - y : y) / this.row);
    return (this.byRow?.[row] || []).find((box) => x >= box.x && x < box.x + Math.max(box.w, 2));
  }

  #hover(event) {
    const box = this.#at(event);
    if (!box) return this.#leave();
    place(this.cursor, box, this.y(box.row), this.row);
    this.#showTip(box, event.clientX, event.clientY);
  }

  #leave() {
    this.cursor.hidden = this.tip.hidden = true;
  }

  #click(event) {
    const box = this.#at(event);
    if (box) this.choose(box.many ? this.tree.parent[box.i] : box.i);
  }

  #key(event, reset) {
    const tree = this.tree;
    if (!tree || event.ctrlKey || event.metaKey || event.altKey) return;
    const at = this.focused,
      step = {
        ArrowDown: () => (this.up ? tree.parent[at] : first(tree, at)),
        ArrowUp: () => (this.up ? first(tree, at) : tree.parent[at]),
        ArrowLeft: () => sibling(tree, at, -1),
        ArrowRight: () => sibling(tree, at, 1),
        Home: () => this.zoomed,
        n: () => this.#match(1),
        N: () => this.#match(-1),
      }[event.key];
    if (step) {
      const next = step();
      if (next >= 0) this.focused = next;
      if (!tree.holds(this.zoomed, this.focused)) this.choose(this.focused);
      this.#showFocus();
    } else if (event.key === "Enter" || event.key === " ") this.choose(at);
    else if (event.key === "Backspace" && this.zoomed) this.choose(tree.parent[this.zoomed]);
    else if (event.key === "Escape") {
      this.#leave();
      reset();
    } else return;
    event.preventDefault();
  }

  #match(step) {
    const nodes = this.found?.nodes || [];
    if (!nodes.length) return -1;
    const later = step > 0 ? nodes.find((i) => i > this.focused) : nodes.findLast((i) => i < this.focused);
    return later ?? nodes[step > 0 ? 0 : nodes.length - 1];
  }

  // Marks the focused node and says it; what is too narrow to see is marked where it would be.
  #showFocus(say = true) {
    if (!this.tree || !this.element.matches(":focus-visible")) return;
    const box = this.boxes.find((item) => item.i === this.focused) || this.#boxOf(this.focused);
    place(this.ring, box, this.y(box.row), this.row);
    this.ring.scrollIntoView({ block: "nearest" });
    if (!say) return;
    const at = this.ring.getBoundingClientRect();
    this.#showTip({ i: this.focused }, Math.min(at.left + at.width / 2, at.left + 240), at.bottom);
    announce(this.sentence(this.focused));
  }

  #boxOf(i) {
    const tree = this.tree,
      scale = this.element.clientWidth / tree.width[this.zoomed];
    return {
      i,
      row: tree.depth[i],
      x: (tree.start[i] - tree.start[this.zoomed]) * scale,
      w: Math.max(2, tree.width[i] * scale),
    };
  }

  sentence(i) {
    const tree = this.tree,
      name = tree.label(i);
    if (tree.isDiff) {
      const { before, after, points } = tree.change(i);
      return `${name}, ${percent(before)} before, ${percent(after)} after, ${points < 0 ? "" : "+"}${(points * 100).toFixed(2)} points`;
    }
    return `${name}, ${figure(tree.totals[0][i], tree.types[0].unit)} ${noun(tree.types[0].name)}, ${percent(tree.width[i])}`;
  }

  #showTip(box, x, y) {
    this.tip.replaceChildren(
      ...(box.many
        ? [h("strong", {}, plural(box.many, "narrow frame")), h("em", {}, "click to zoom in")]
        : this.#facts(box.i)),
    );
    this.tip.hidden = false;
    const size = this.tip.getBoundingClientRect();
    this.tip.style.setProperty("left", Math.max(8, Math.min(x + 14, innerWidth - size.width - 8)) + "px");
    this.tip.style.setProperty(
      "top",
      (y + size.height + 22 > innerHeight ? Math.max(8, y - size.height - 14) : y + 16) + "px",
    );
  }

  #facts(i) {
    const tree = this.tree,
      trail = tree.trail(tree.parent[i]);
    return [
      h("strong", {}, tree.label(i)),
      trail.length ? h("em", {}, trail.join(" › ")) : null,
      facts(tree, i),
      this.describe?.(i),
    ].filter(Boolean);
  }
}

// Every exact figure of a node, with its shares.
export function facts(tree, i) {
  const rows = [];
  if (tree.isDiff) {
    const { before, after, points } = tree.change(i),
      unit = tree.types[0].unit;
    rows.push(["base", `${percent(before)}  ·  ${figure(tree.totals[0][i], unit)}`]);
    rows.push(["target", `${percent(after)}  ·  ${figure(tree.totals[1][i], unit)}`]);
    rows.push(["change", signed(`${(points * 100).toFixed(2)} points`)]);
  } else {
    const [type, ...others] = tree.types;
    rows.push([noun(type.name), readable(tree.totals[0][i], type.unit)]);
    rows.push(["in itself", figure(tree.selfs[i], type.unit)]);
    rows.push(["share of all", percent(tree.width[i])]);
    if (i && tree.parent[i] >= 0)
      rows.push(["share of parent", percent(tree.width[i] / (tree.width[tree.parent[i]] || 1))]);
    others.forEach((item, k) => rows.push([noun(item.name), readable(tree.totals[k + 1][i], item.unit)]));
  }
  return h(
    "dl",
    { class: "facts" },
    rows.map(([term, value]) => [h("dt", {}, term), h("dd", {}, value)]),
  );
}

function place(element, box, y, height) {
  element.hidden = false;
  element.style.setProperty("transform", `translate(${box.x}px, ${y}px)`);
  element.style.setProperty("width", Math.max(2, box.w - 1) + "px");
  element.style.setProperty("height", height - 1 + "px");
}

const first = (tree, i) => (tree.end[i] > i + 1 ? i + 1 : -1);

function sibling(tree, i, step) {
  const parent = tree.parent[i];
  if (parent < 0) return -1;
  let before = -1;
  for (let at = parent + 1; at < tree.end[parent]; at = tree.end[at]) {
    if (step > 0 && before === i) return at;
    if (step < 0 && at === i) return before;
    before = at;
  }
  return -1;
}
