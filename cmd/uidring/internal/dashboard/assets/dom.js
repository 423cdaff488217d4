// Making elements. Text is always text: nothing on this page is parsed as HTML.

export const $ = (id) => document.getElementById(id);

// make gives an element with properties ("class" sets the class, names with a dash are attributes) and children.
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === 'class') element.className = value;
    else if (name.includes('-') || name === 'role' || name === 'scope') element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children);
  return element;
}

// show sets a text only when it differs, so that live regions speak of changes alone.
export function show(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// rows fills a <tbody>; the first text of a row is its head. It changes texts in place, as list does.
export function rows(body, texts) {
  if (body.children.length !== texts.length) {
    body.replaceChildren(...texts.map((row) => make('tr', {}, ...row.map((_, i) => make(i ? 'td' : 'th', i ? {class: 'number'} : {scope: 'row'})))));
  }
  texts.forEach((row, y) => row.forEach((text, x) => show(body.children[y].children[x], text)));
}

// list fills a <dl> with [term, value, note?]. It changes texts in place: what somebody has marked, or is having read to
// them, stays.
export function list(dl, rows) {
  if (dl.children.length !== rows.length) {
    dl.replaceChildren(...rows.map(() => make('div', {}, make('dt'),
      make('dd', {}, make('span', {class: 'value'}), make('span', {class: 'note'})))));
  }
  rows.forEach(([term, value, note = ''], i) => {
    const [dt, dd] = dl.children[i].children;
    show(dt, term);
    show(dd.firstChild, value);
    show(dd.lastChild, note);
  });
}
