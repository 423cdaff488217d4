// The ring of blocks as a picture: IDs are taken at the head, clockwise, and new blocks are put at the tail.

const most = 64; // arcs; a larger ring shows several blocks as one

const svg = (tag, attributes = {}) => {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
};

const at = (share, radius) => {
  const angle = 2 * Math.PI * share;
  return [60 + radius * Math.sin(angle), 60 - radius * Math.cos(angle)].map((n) => n.toFixed(2)).join(' ');
};

// A Ring is drawn anew when the capacity changes.
export class Ring {
  element = svg('svg', {class: 'ring', viewBox: '0 0 120 120', role: 'img'});
  #arcs = [];
  #capacity = '';
  #head = svg('path', {class: 'head-mark', d: 'M-4 0h8l-4 6z'});
  #text = svg('text', {x: 60, y: 58});

  // update takes the IDs of a full ring and of a block, how many are ready, and how many have left the ring so far.
  update({capacity, block, ready, gone}) {
    if (this.#capacity !== `${capacity} ${block}`) this.#draw(capacity, block);
    this.#capacity = `${capacity} ${block}`;
    const size = capacity / this.#arcs.length; // IDs of an arc
    const head = Number(gone % BigInt(capacity)) / size;
    const tail = head + ready / size;
    this.#arcs.forEach((arc, i) => {
      // The IDs of an arc lie between from and to, shares of it. When the tail has gone around, it is on the arc of the head.
      const from = Math.min(Math.max(head - i, 0), 1);
      const to = Math.min(Math.max(tail - i, 0), 1);
      const wrapped = Math.min(Math.max(tail - this.#arcs.length - i, 0), 1);
      const [start, end] = wrapped > 0 && from >= to ? [0, wrapped] : [wrapped > 0 ? 0 : from, to];
      arc.setAttribute('stroke-dasharray', `${(100 * Math.max(0, end - start)).toFixed(2)} 200`);
      arc.setAttribute('stroke-dashoffset', (-100 * start).toFixed(2));
      arc.classList.toggle('empty', end <= start);
    });
    this.#head.setAttribute('transform', `rotate(${(360 * head / this.#arcs.length).toFixed(1)} 60 60) translate(60 1)`);
    const blocks = ready / block;
    const shown = blocks >= 100 ? Math.round(blocks) : Math.round(blocks * 10) / 10;
    this.#text.textContent = `${shown} of ${capacity / block}`;
    this.element.setAttribute('aria-label', `The ring: ${shown} of ${capacity / block} blocks of IDs are ready`);
  }

  #draw(capacity, block) {
    const n = Math.min(most, Math.max(1, Math.round(capacity / block)));
    const gap = Math.min(0.006, 0.15 / n);
    const arcs = Array.from({length: n}, (_, i) => `M${at(i / n + gap, 46)}A46 46 0 ${n === 1 ? 1 : 0} 1 ${at((i + 1) / n - gap, 46)}`);
    this.#arcs = arcs.map((d) => svg('path', {class: 'ids', d, pathLength: 100}));
    const label = svg('text', {x: 60, y: 74});
    label.textContent = 'blocks';
    this.element.replaceChildren(...arcs.map((d) => svg('path', {class: 'room', d})), ...this.#arcs, this.#head, this.#text, label);
  }
}
