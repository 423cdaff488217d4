// The four charts. Each has its present value as text beside it; the picture adds how it came about.

import {brief, clock, duration, integer, percent, rate, short, signed} from './format.js';
import {make} from './dom.js';

const span = 300; // seconds that are kept and shown
const least = 30; // seconds on the axis in the beginning

// steps are where the lines of an axis of seconds may be apart.
const steps = [0.001, 0.01, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 18000, 43200, 86400]
  .concat([2, 5, 10, 50, 100, 500, 1000, 5000, 10000, 100000, 1000000].map((days) => days * 86400));

// What is drawn. of takes a reading (the event "stats") to a number, null where there is none; text to the words for
// it, and unit follows them.
const kinds = [
  {
    id: 'rate', title: 'Issue rate', unit: 'IDs/s', none: 'measuring',
    of: (s) => s.rate, value: rate, axis: short, range: (low, high) => [0, Math.max(10, high * 1.1)],
    note: (s) => `${integer(s.issued)} issued since the start`,
  },
  {
    id: 'fill', title: 'Ring fill', unit: '', none: '',
    of: (s) => 100 * Number(s.remaining) / Number(s.capacity), value: percent, axis: (n) => `${n} %`, range: () => [0, 100],
    note: (s) => `${integer(s.remaining)} of ${integer(s.capacity)} IDs are ready`,
  },
  {
    id: 'ahead', title: 'ID time against the clock', unit: '', none: '',
    of: (s) => s.ahead, value: signed, axis: brief, steps, range: (low, high) => [Math.min(-1, low * 1.1), Math.max(1, high * 1.1)],
    note: (s) => (s.ahead > 0 ? 'the newest IDs are ahead of the clock' : 'the newest IDs are behind the clock'),
  },
  {
    id: 'lease', title: 'Lease window', unit: '', none: 'no fence',
    of: (s) => s.windowLasts, value: duration, axis: brief, steps, range: (low, high) => [0, Math.max(1, high * 1.1)],
    note: lease,
  },
];

function lease({window, windowLasts}) {
  if (windowLasts === null) return 'the worker ID is not fenced, and needs no renewal';
  if (windowLasts === 0) return 'used up: when the ring is empty there are no IDs until the store of worker IDs answers';
  return `real time left at this rate; ${duration(window)} of ID time`;
}

// history holds what the charts show: seconds since 1970, and a column per kind. A null breaks the line.
const history = {time: [], columns: kinds.map(() => [])};

class Chart {
  constructor(kind, column) {
    this.kind = kind;
    this.column = column;
    this.value = make('span', {class: 'value'}, '–');
    this.unit = make('span', {class: 'unit'}, kind.unit);
    this.note = make('p', {class: 'note'});
    this.range = make('p', {class: 'range'});
    this.box = make('div', {class: 'plot', role: 'img', 'aria-label': `Chart of the last minutes: ${kind.title}`});
    this.element = make('figure', {class: 'card chart', id: `chart-${kind.id}`},
      make('figcaption', {}, make('h3', {}, kind.title), make('p', {class: 'reading'}, this.value, ' ', this.unit), this.note),
      this.box, this.range);
  }

  mount() {
    const colour = (name) => () => getComputedStyle(this.box).getPropertyValue(name);
    const axis = {stroke: colour('--muted'), grid: {stroke: colour('--grid'), width: 1}, ticks: {show: false}, font: '12px system-ui, sans-serif'};
    const {value, axis: ticks, steps: incrs, range} = this.kind;
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
      series: [{}, {
        stroke: colour('--line'), fill: colour('--fill'), width: 2, points: {show: false},
        value: (u, v) => (v === null ? '' : value(v)),
      }],
      hooks: {setCursor: [(u) => this.point(u.cursor.idx)]},
    }, [history.time, history.columns[this.column]], this.box);
    new ResizeObserver(() => this.plot.setSize(this.size())).observe(this.box);
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
    this.note.textContent = this.kind.note(reading);
    this.plot.setData([history.time, history.columns[this.column]]);
    this.point(this.plot.cursor.idx);
  }

  redraw() {
    this.plot.redraw();
  }
}

let charts = [];

// mount puts the charts into a box that is shown.
export function mount(box) {
  charts = kinds.map((kind, i) => new Chart(kind, i));
  box.append(...charts.map((chart) => chart.element));
  for (const chart of charts) chart.mount();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => charts.forEach((chart) => chart.redraw()));
}

// add takes a reading into the charts.
export function add(reading) {
  push(reading.time, kinds.map((kind) => kind.of(reading)));
  for (const chart of charts) chart.update(reading);
}

// interrupt breaks the lines after a lost connection.
export function interrupt() {
  if (history.time.length > 0 && history.columns.some((ys) => ys.at(-1) !== null)) {
    push(history.time.at(-1) + 0.001, kinds.map(() => null));
  }
}

// push keeps times in order, and within the span. A reading may come once more after a short interruption, and clocks are
// set back: what is not before the new one goes.
function push(time, values) {
  const columns = [history.time, ...history.columns];
  const later = history.time.findIndex((t) => t >= time);
  if (later >= 0) columns.forEach((column) => column.splice(later));
  [time, ...values].forEach((value, i) => columns[i].push(value));
  const kept = history.time.findIndex((t) => t >= time - span);
  columns.forEach((column) => column.splice(0, kept));
}

// rows are the last readings, newest first, as texts.
export function rows(n) {
  const last = [];
  for (let i = history.time.length - 1; i >= 0 && last.length < n; i--) {
    const values = kinds.map((kind, k) => history.columns[k][i]);
    if (values.some((v) => v !== null)) {
      last.push([clock(history.time[i]), ...values.map((v, k) => (v === null ? '–' : kinds[k].value(v)))]);
    }
  }
  return last;
}
