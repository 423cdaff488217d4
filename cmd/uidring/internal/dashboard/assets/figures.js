// The figures of the last reading, a card for each.

import {duration, integer, percent, rate, signed} from './format.js';
import {make, show} from './dom.js';
import {Ring} from './ring.js';

// What is shown. of takes the event "stats" to a number, null where there is none; value to the words for it, and unit
// follows them. bad tells whether a value is red, by the limits of the event "about".
const kinds = [
  {
    id: 'rate', title: 'Issue rate', unit: 'IDs/s', none: 'measuring', of: (s) => s.rate, value: rate,
    note: (s) => `${integer(s.issued)} issued since the start`,
  },
  {
    id: 'fill', title: 'Ring', unit: '', none: '', ring: true, of: (s) => s.fill, value: percent,
    bad: (y) => y === 0,
    note: (s) => `${integer(s.remaining)} of ${integer(s.capacity)} IDs are ready`,
  },
  {
    id: 'ahead', title: 'ID time against the clock', unit: '', none: '', of: (s) => s.ahead, value: signed,
    bad: (y, {ahead, behind}) => y >= ahead || y < behind,
    note: (s) => (s.ahead > 0 ? 'the newest prepared IDs are ahead of the clock' : 'the newest prepared IDs are behind the clock'),
  },
  {
    id: 'lease', title: 'Lease window', unit: '', none: 'no fence', of: (s) => s.windowLasts, value: duration,
    bad: (y, {lease}) => y < lease,
    note: lease,
  },
  {
    id: 'requests', title: 'HTTP requests', unit: 'requests/s', none: 'measuring', of: (s) => s.requests, value: rate,
    bad: (y, limits, s) => s.failed > 0,
    note: ({failed, refused}) => `${rate(failed ?? 0)}/s failed (5xx), ${rate(refused ?? 0)}/s refused (4xx), of all under /v1`,
  },
];

function lease({window, windowLasts}) {
  if (windowLasts === null) return 'the worker ID is not fenced, and needs no renewal';
  if (windowLasts === 0) return 'used up: when the ring is empty there are no IDs until the store of worker IDs answers';
  return `real time left at this rate; ${duration(window)} of ID time`;
}

// figures puts the cards into a box, and returns a func that takes the events "about" and "stats".
export function figures(box) {
  const cards = kinds.map(card);
  box.replaceChildren(...cards.map(({element}) => element));
  return (about, stats) => cards.forEach(({update}) => update(about, stats));
}

function card(kind) {
  const value = make('span', {class: 'value'}, '–');
  const unit = make('span', {class: 'unit'}, kind.unit);
  const note = make('p', {class: 'note'});
  const ring = kind.ring && new Ring();
  const element = make('div', {class: 'card figure', id: `figure-${kind.id}`},
    make('div', {}, make('h3', {}, kind.title), make('p', {class: 'reading'}, value, ' ', unit), note),
    ...(ring ? [ring.element] : []));
  const update = (about, stats) => {
    const y = kind.of(stats);
    show(value, y === null ? kind.none : kind.value(y));
    unit.hidden = y === null;
    value.classList.toggle('none', y === null);
    value.classList.toggle('bad', y !== null && Boolean(kind.bad?.(y, about.limits, stats)));
    show(note, kind.note(stats));
    ring?.update({
      capacity: Number(stats.capacity), block: 2 ** about.layout.sequence, ready: Number(stats.remaining),
      gone: BigInt(stats.issued) + BigInt(stats.retired),
    });
  };
  return {element, update};
}
