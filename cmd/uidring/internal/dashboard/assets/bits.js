// An ID as 64 coloured bits, with a table of its fields.

import {integer} from './format.js';
import {make, show} from './dom.js';

// fields lists what the 64 bits are, from the highest on.
export function fields(layout) {
  const used = layout.delta + layout.datacenter + layout.worker + layout.sequence;
  return [
    {name: 'unused', width: 64 - used},
    {name: 'delta', width: layout.delta},
    {name: 'datacenter', width: layout.datacenter},
    {name: 'worker', width: layout.worker},
    {name: 'sequence', width: layout.sequence},
  ].filter((field) => field.width > 0);
}

// split takes an ID apart: decimal texts by field name, "0" for a field that the layout has not. The service would give
// the same numbers, which JavaScript rounds above 2^53.
export function split(id, layout) {
  const values = {datacenter: '0', worker: '0', sequence: '0'};
  let rest = BigInt(id);
  for (const {name, width} of fields(layout).reverse()) {
    values[name] = String(BigInt.asUintN(width, rest));
    rest >>= BigInt(width);
  }
  return values;
}

// picture puts 64 bits and a table of the fields into a box, and returns a func that fills in values, decimal texts by
// field name. A field without a value may be anything, and has dots. The elements stay, as in list.
export function picture(box, layout) {
  const all = fields(layout);
  const rows = all.filter((field) => field.name !== 'unused').map(row);
  const cells = all.flatMap(({name, width}) => Array.from({length: width}, (_, i) => make('span', {
    class: `bit ${name}${i === 0 ? ' first' : ''}${i === width - 1 ? ' last' : ''}`,
  })));
  const bits = make('div', {class: 'bits', role: 'img'}, ...cells);
  box.replaceChildren(bits, table(rows));
  return (values) => {
    const known = {unused: '0', ...values};
    const digits = all.map((field) => digitsOf(field, known[field.name])).join('');
    cells.forEach((cell, i) => {
      show(cell, digits[i]);
      cell.classList.toggle('one', digits[i] === '1');
    });
    bits.setAttribute('aria-label', `64 bits: ${all.map((field) => spoken(field, known[field.name])).join('; ')}`);
    for (const {name, value} of rows) show(value, written(known[name]));
  };
}

const digitsOf = ({width}, value) => (value === undefined ? '·'.repeat(width) : BigInt(value).toString(2).padStart(width, '0'));

const written = (value) => (value === undefined ? 'any' : integer(value));

const spoken = ({name, width}, value) => `${name}, ${width} ${width === 1 ? 'bit' : 'bits'}, ${written(value)}`;

function row({name, width}) {
  const value = make('td', {class: 'number'});
  const element = make('tr', {},
    make('th', {scope: 'row'}, make('span', {class: `swatch ${name}`, 'aria-hidden': 'true'}), name),
    make('td', {class: 'number'}, String(width)),
    value,
    make('td', {class: 'number'}, integer(String(2n ** BigInt(width) - 1n))));
  return {name, value, element};
}

function table(rows) {
  const heads = ['Field', 'Bits', 'Value', 'Largest'];
  return make('table', {class: 'fields'},
    make('thead', {}, make('tr', {}, ...heads.map((text, i) => make('th', {scope: 'col', class: i ? 'number' : ''}, text)))),
    make('tbody', {}, ...rows.map(({element}) => element)));
}
