// The charts. Each has its present value as text beside it; the picture adds how it came about.

import {brief, clock, duration, integer, percent, rate, short, signed} from './format.js';
import {make} from './dom.js';
import {Ring} from './ring.js';

const least = 30; // seconds on the axis in the beginning

// steps are where the lines of an axis of seconds may be apart. Each is at most three times the one before: else an
// axis may have a single line.
export const steps = [0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600,
  7200, 18000, 43200].concat([1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000, 500000, 1000000].map((days) => days * 86400));

// What is drawn. of takes a point (of the event "stats", or of the history) to a number, null where there is none; text
// to the words for it, and unit follows them. bad tells whether a value is red, by the limits of the event "about";
// limits are drawn where they are in sight. also is a second line, red. note takes a reading.
export const kinds = [
  {
    id: 'rate', title: 'Issue rate', unit: 'IDs/s', none: 'measuring',
    of: (s) => s.rate, value: rate, axis: short, range: (low, high) => [0, Math.max(10, high * 1.1)],
    note: (s) => `${integer(s.issued)} issued since the start`,
  },
  {
    id: 'fill', title: 'Ring', unit: '', none: '', ring: true,
    of: (s) => s.fill, value: percent, axis: (n) => `${n} %`, range: () => [0, 100],
    bad: (y) => y === 0,
    note: (s) => `${integer(s.remaining)} of ${integer(s.capacity)} IDs are ready`,
  },
  {
    id: 'ahead', title: 'ID time against the clock', unit: '', none: '',
    of: (s) => s.ahead, value: signed, axis: brief, steps, range: (low, high) => [Math.min(-1, low * 1.1), Math.max(1, high * 1.1)],
    limits: ({ahead, behind}) => [ahead, behind], bad: (y, {ahead, behind}) => y >= ahead || y < behind,
    note: (s) => (s.ahead > 0 ? 'the newest IDs are ahead of the clock' : 'the newest IDs are behind the clock'),
  },
  {
    id: 'lease', title: 'Lease window', unit: '', none: 'no fence',
    of: (s) => s.windowLasts, value: duration, axis: brief, steps, range: (low, high) => [0, Math.max(1, high * 1.1)],
    limits: ({lease}) => [lease], bad: (y, {lease}) => y < lease,
    note: lease,
  },
  {
    id: 'requests', title: 'HTTP requests', unit: 'requests/s', none: 'measuring',
    of: (s) => s.requests, value: rate, axis: short, range: (low, high) => [0, Math.max(1, high * 1.1)],
    also: (s) => s.failed, bad: (y, limits, s) => s.failed > 0,
    note: ({failed, refused}) => `${rate(failed ?? 0)}/s failed (5xx), ${rate(refused ?? 0)}/s refused (4xx), of all under /v1`,
  },
];

function lease({window, windowLasts}) {
  if (windowLasts === null) return 'the worker ID is not fenced, and needs no renewal';
  if (windowLasts === 0) return 'used up: when the ring is empty there are no IDs until the store of worker IDs answers';
  return `real time left at this rate; ${duration(window)} of ID time`;
}

// history holds what the charts show: seconds since 1970, and a column per line. A null breaks the line.
const lines = kinds.flatMap(({of, also}) => (also ? [of, also] : [of]));
const history = {time: [], columns: lines.map(() => [])};
let about = {kept: 900, limits: {}}; // the event "about"

class Chart {
  constructor(kind) {
    this.kind = kind;
    this.column = lines.indexOf(kind.of);
    this.value = make('span', {class: 'value'}, '–');
    this.unit = make('span', {class: 'unit'}, kind.unit);
    this.note = make('p', {class: 'note'});
    this.range = make('p', {class: 'range'});
    this.box = make('div', {class: 'plot', role: 'img', 'aria-label': `Chart of the last minutes: ${kind.title}`});
    this.ring = kind.ring && new Ring();
    this.element = make('figure', {class: 'card chart', id: `chart-${kind.id}`},
      make('figcaption', {class: 'head'},
        make('div', {}, make('h3', {}, kind.title), make('p', {class: 'reading'}, this.value, ' ', this.unit), this.note),
        ...(this.ring ? [this.ring.element] : [])),
      this.box, this.range);
  }

  mount() {
    const colour = (name) => () => getComputedStyle(this.box).getPropertyValue(name);
    const axis = {stroke: colour('--muted'), grid: {stroke: colour('--grid'), width: 1}, ticks: {show: false}, font: '12px system-ui, sans-serif'};
    const {value, axis: ticks, steps: incrs, range, also} = this.kind;
    const line = {width: 2, points: {show: false}, value: (u, v) => (v === null ? '' : value(v))};
    this.plot = new uPlot({
      ...this.size(),
      legend: {show: false},
      padding: [8, 28, 0, 0], // on the right there is room for half of a time of day
      cursor: {y: false, drag: {setScale: false, x: false, y: false}, sync: {key: 'uidring'}, points: {size: 7, fill: colour('--line')}},
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
      scales: {
        x: {range: (u, first, last) => [Math.min(first ?? 0, (last ?? 0) - least), last ?? 0]},
        y: {range: (u, low, high) => range(low ?? 0, high ?? 0)},
      },
      axes: [
        {...axis, space: 80, size: 28, values: (u, splits) => splits.map(clock)},
        {...axis, ...(incrs && {incrs}), space: 34, size: 64, values: (u, splits) => splits.map(ticks)},
      ],
      series: [{}, {...line, stroke: colour('--line'), fill: colour('--fill')}, ...(also ? [{...line, stroke: colour('--bad')}] : [])],
      hooks: {setCursor: [(u) => this.point(u.cursor.idx)], draw: [(u) => this.drawLimits(u, colour('--bad')())]},
    }, this.data(), this.box);
    new ResizeObserver(() => this.plot.setSize(this.size())).observe(this.box);
  }

  data() {
    const columns = [history.columns[this.column]];
    if (this.kind.also) { // no line where it was never more than 0
      const also = history.columns[lines.indexOf(this.kind.also)];
      columns.push(also.some((y) => y > 0) ? also : also.map(() => null));
    }
    return [history.time, ...columns];
  }

  // drawLimits draws a dashed line at each limit that the axis reaches.
  drawLimits({ctx, bbox, scales, valToPos}, colour) {
    ctx.save();
    ctx.strokeStyle = colour;
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([6, 4].map((n) => n * devicePixelRatio));
    for (const limit of this.kind.limits?.(about.limits) ?? []) {
      if (limit < scales.y.min || limit > scales.y.max) continue;
      const y = Math.round(valToPos(limit, 'y', true));
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
    }
    ctx.restore();
  }

  size() {
    return {width: Math.max(200, this.box.clientWidth), height: 150};
  }

  // point tells the value under the pointer, else the range of what is shown.
  point(index) {
    const ys = history.columns[this.column];
    const y = index === null || index === undefined ? null : ys[index];
    const known = ys.filter((v) => v !== null);
    if (y !== null && y !== undefined) {
      this.range.textContent = `${clock(history.time[index])} UTC: ${this.words(y)}`;
    } else if (known.length > 0) {
      const seconds = history.time.at(-1) - history.time[0];
      this.range.textContent = `${this.words(Math.min(...known))} to ${this.words(Math.max(...known))} in the last ${duration(Math.max(1, Math.round(seconds)))}`;
    } else {
      this.range.textContent = '';
    }
  }

  words(y) {
    return [this.kind.value(y), this.kind.unit].filter(Boolean).join(' ');
  }

  update(reading) {
    const y = this.kind.of(reading);
    this.value.textContent = y === null ? this.kind.none : this.kind.value(y);
    this.unit.hidden = y === null;
    this.value.classList.toggle('none', y === null);
    this.value.classList.toggle('bad', y !== null && Boolean(this.kind.bad?.(y, about.limits, reading)));
    this.note.textContent = this.kind.note(reading);
    this.ring?.update({
      capacity: Number(reading.capacity), block: 2 ** about.layout.sequence, ready: Number(reading.remaining),
      gone: BigInt(reading.issued) + BigInt(reading.retired),
    });
    this.draw();
  }

  draw() {
    this.plot.setData(this.data());
    this.point(this.plot.cursor.idx);
  }

  redraw() {
    this.plot.redraw();
  }
}

let charts = [];

// mount puts the charts into a box that is shown.
export function mount(box) {
  charts = kinds.map((kind) => new Chart(kind));
  box.replaceChildren(...charts.map((chart) => chart.element));
  for (const chart of charts) chart.mount();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => charts.forEach((chart) => chart.redraw()));
}

// introduce takes the event "about".
export function introduce(data) {
  about = data;
}

// recall takes the event "history", a list of points. It replaces what is not older.
export function recall(points) {
  for (const point of points) push(point.time, lines.map((of) => of(point)));
  for (const chart of charts) chart.draw();
}

// add takes a reading into the charts.
export function add(reading) {
  push(reading.time, lines.map((of) => of(reading)));
  for (const chart of charts) chart.update(reading);
}

// interrupt breaks the lines after a lost connection.
export function interrupt() {
  if (history.time.length > 0 && history.columns.some((ys) => ys.at(-1) !== null)) {
    push(history.time.at(-1) + 0.001, lines.map(() => null));
  }
}

// push keeps times in order, and within the span. A reading may come once more after a short interruption, and clocks are
// set back: what is not before the new one goes.
function push(time, values) {
  const columns = [history.time, ...history.columns];
  const later = history.time.findIndex((t) => t >= time);
  if (later >= 0) columns.forEach((column) => column.splice(later));
  [time, ...values].forEach((value, i) => columns[i].push(value));
  const kept = history.time.findIndex((t) => t >= time - about.kept);
  columns.forEach((column) => column.splice(0, kept));
}

// rows are the last readings, newest first, as texts.
export function rows(n) {
  const last = [];
  for (let i = history.time.length - 1; i >= 0 && last.length < n; i--) {
    const values = kinds.map(({of}) => history.columns[lines.indexOf(of)][i]);
    if (values.some((v) => v !== null)) {
      last.push([clock(history.time[i]), ...values.map((v, k) => (v === null ? '–' : kinds[k].value(v)))]);
    }
  }
  return last;
}
