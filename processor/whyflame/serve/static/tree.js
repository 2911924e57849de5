// The tree in preorder columns, as the server sends it, indexed for drawing, searching and merging.

export class Tree {
  constructor(data) {
    Object.assign(this, data);
    const count = (this.count = data.depth.length);
    this.isDiff = Boolean(data.comparison);
    // Values past 2^53 arrive as text; then all of that column is summed in big integers.
    this.isBig = data.totals.map((column) => column.some((value) => typeof value === "string"));
    this.parent = new Int32Array(count);
    this.end = new Int32Array(count);
    this.width = new Float64Array(count);
    this.start = new Float64Array(count);
    const compared = data.totals.slice(0, this.isDiff ? 2 : 1);
    this.sums = compared.map((column) => Number(column[0]) || 1);
    const open = [],
      filled = new Float64Array(count);
    for (let i = 0; i < count; i++) {
      while (open.length > data.depth[i]) this.end[open.pop()] = i;
      const above = (this.parent[i] = open.length ? open[open.length - 1] : -1);
      open.push(i);
      let share = 0;
      for (let k = 0; k < compared.length; k++) share += Number(compared[k][i]) / this.sums[k];
      this.width[i] = share / compared.length;
      if (i) {
        this.start[i] = filled[above];
        filled[above] += this.width[i];
      }
      filled[i] = this.start[i];
    }
    while (open.length) this.end[open.pop()] = count;
  }

  label(i) {
    return this.names[this.name[i]];
  }
  colour(i) {
    return this.colours[this.name[i]];
  }
  holds(i, inside) {
    return inside >= i && inside < this.end[i];
  }

  // Names from below the root to the node.
  trail(i) {
    const names = [];
    for (let at = i; at > 0; at = this.parent[at]) names.unshift(this.label(at));
    return names;
  }

  // The node of a trail; as deep as the trail still exists.
  find(trail) {
    let at = 0;
    for (const name of trail) {
      let next = -1;
      for (let i = at + 1; i < this.end[at]; i = this.end[i])
        if (this.label(i) === name) {
          next = i;
          break;
        }
      if (next < 0) return at;
      at = next;
    }
    return at;
  }

  change(i) {
    const before = Number(this.totals[0][i]) / this.sums[0],
      after = Number(this.totals[1][i]) / this.sums[1];
    return { before, after, points: after - before };
  }

  // From much less (0) over equal (3) to much more (6), relative to the larger share.
  step(i) {
    if (i === 0) return 3;
    const { before, after, points } = this.change(i);
    const ratio = points / Math.max(before, after, 1e-12),
      size = Math.abs(ratio);
    return 3 + Math.sign(ratio) * (size < 0.05 ? 0 : size < 0.25 ? 1 : size < 0.6 ? 2 : 3);
  }

  // Nodes whose name contains the text, and their share, nested matches counted once.
  search(text) {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return null;
    const hits = this.names.map((name) => name.toLowerCase().includes(wanted));
    const is = new Uint8Array(this.count),
      nodes = [];
    let share = 0,
      until = 0;
    for (let i = 1; i < this.count; i++) {
      if (!hits[this.name[i]]) continue;
      is[i] = 1;
      nodes.push(i);
      if (i >= until) {
        share += this.width[i];
        until = this.end[i];
      }
    }
    return { is, nodes, share, names: new Set(nodes.map((i) => this.name[i])).size };
  }

  // One row a name within a subtree: self, and total with recursion counted once.
  rows(root = 0) {
    const big = this.isBig[0],
      zero = big ? 0n : 0,
      of = big ? BigInt : Number;
    const rows = new Map(),
      open = new Map();
    for (let i = root === 0 ? 1 : root; i < this.end[root]; i++) {
      const id = this.name[i];
      let row = rows.get(id);
      if (!row)
        rows.set(
          id,
          (row = { id, name: this.names[id], colour: this.colours[id], self: zero, total: zero, frames: 0 }),
        );
      row.self += of(this.selfs[i]);
      row.frames++;
      if (!(open.get(id) > i)) {
        row.total += of(this.totals[0][i]);
        open.set(id, this.end[i]);
      }
    }
    return [...rows.values()];
  }

  // Callers (`up`) or callees of a name, merged over all its outermost occurrences.
  around(name, up) {
    const id = this.names.indexOf(name);
    const root = node(id, this.totals.length);
    for (let i = 1; i < this.count;) {
      if (this.name[i] !== id) {
        i++;
        continue;
      }
      if (up) this.#addCallers(root, i);
      else this.#addCallees(root, i);
      i = this.end[i];
    }
    return this.#flatten(root);
  }

  #add(into, i) {
    for (let k = 0; k < into.totals.length; k++) into.totals[k] += BigInt(this.totals[k][i]);
  }

  #addCallers(root, i) {
    let into = root;
    this.#add(into, i);
    for (let at = this.parent[i]; at > 0; at = this.parent[at]) {
      into = child(into, this.name[at]);
      this.#add(into, i);
    }
  }

  #addCallees(root, top) {
    const open = [root];
    const base = this.depth[top];
    for (let i = top; i < this.end[top]; i++) {
      const level = this.depth[i] - base;
      open.length = level + 1;
      if (level) open[level] = child(open[level - 1], this.name[i]);
      this.#add(open[level], i);
      open[level].self += BigInt(this.selfs[i]);
    }
  }

  #flatten(root) {
    const data = {
      names: this.names,
      colours: this.colours,
      types: this.types,
      left_out: 0,
      name: [],
      depth: [],
      totals: root.totals.map(() => []),
      selfs: [],
    };
    const exact = (value) => (value < 9007199254740992n ? Number(value) : String(value));
    const waiting = [[root, 0]];
    while (waiting.length) {
      const [at, depth] = waiting.pop();
      data.name.push(at.id);
      data.depth.push(depth);
      at.totals.forEach((value, k) => data.totals[k].push(exact(value)));
      data.selfs.push(exact(at.self));
      const below = [...at.children.values()].sort((a, b) => (a.totals[0] < b.totals[0] ? -1 : 1));
      for (const item of below) waiting.push([item, depth + 1]);
    }
    return new Tree(data);
  }
}

const node = (id, columns) => ({ id, totals: new Array(columns).fill(0n), self: 0n, children: new Map() });

function child(into, id) {
  let found = into.children.get(id);
  if (!found) into.children.set(id, (found = node(id, into.totals.length)));
  return found;
}
