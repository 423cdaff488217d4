// Brings the page to life: the stream drives what is shown, the forms ask the API.

import {Refusal, request, token} from './api.js';
import {picture, split} from './bits.js';
import {$, list, rows, show} from './dom.js';
import {figures} from './figures.js';
import {clock, distance, duration, instant, integer, signed} from './format.js';
import {Stream} from './stream.js';

const guarantees = {
  derived: 'a number from configuration or from the host; nothing checks it',
  sticky: 'one number per key from a store, used again after a restart; not fenced',
  lossy: 'fenced, on a store that may forget commits',
  fresh: 'a number that was never given out before, as long as the store is durable',
  fenced: 'safe on a durable store, whatever clocks and pauses do',
};

let about = null; // the event "about"
let reading = null; // the last event "stats"
const drawFigures = figures($('figures'));
let drawWorker; // fill in the pictures of bits
let drawDecoded;

// -- connection

const stream = new Stream({
  event(name, data) {
    if (name === 'about') introduce(data);
    if (name === 'stats') update(data);
    if (name === 'servers') servers(data);
  },
  state,
});

const names = {connecting: 'Connecting', live: 'Live', disconnected: 'Disconnected', refused: 'Sign in', paused: 'Paused'};

// unknown says why the page has no verdict.
const unknown = {disconnected: ': no connection', paused: ': the page is paused'};

let countdown;

function state(name, more) {
  clearInterval(countdown);
  $('state').dataset.state = name;
  show($('state'), names[name]);
  $('pause').hidden = name !== 'live';
  $('sign-out').hidden = !token.get() || name === 'refused';
  if (name === 'disconnected') disconnected(more);
  if (name === 'paused') trouble('Paused.', more.reason, 'Resume');
  if (name === 'refused') signIn();
  $('content').classList.toggle('stale', name !== 'live');
  if (name === 'live') {
    if ([$('sign-in'), $('trouble')].some((box) => box.contains(document.activeElement))) $('main').focus();
    $('sign-in').hidden = true;
    $('content').hidden = false;
  } else if (unknown[name]) {
    judge({level: 'unknown', title: 'Unknown', more: unknown[name], detail: ''});
  }
  $('trouble').hidden = name !== 'disconnected' && name !== 'paused';
}

function disconnected({reason, seconds}) {
  trouble('Disconnected.', reason, 'Try now');
  let left = seconds;
  const tick = () => show($('trouble-retry'), left > 0 ? `Next try in ${left--} s.` : 'Trying…');
  tick();
  countdown = setInterval(tick, 1000);
}

function trouble(title, text, action) {
  show($('trouble-title'), title);
  show($('trouble-text'), text);
  show($('trouble-since'), reading ? `What is shown is of ${clock(reading.time)} UTC.` : '');
  show($('trouble-retry'), '');
  show($('retry'), action);
}

$('retry').addEventListener('click', () => stream.retry());

function pause(reason) {
  stream.stop();
  state('paused', {reason});
}

$('pause').addEventListener('click', () => {
  pause('Nothing moves until you resume.');
  $('retry').focus();
});

// A page that nobody sees gives its place on the service, and its connection, back. Title and icon go on, by /readyz.
const unseen = 60; // seconds
const peekEvery = 30; // seconds; browsers may make it a minute
let hiding;
let hidden = false; // it is paused for that
function look() {
  clearTimeout(hiding);
  if (document.hidden) {
    hiding = setTimeout(hide, unseen * 1000);
  } else if (hidden) {
    hidden = false;
    stream.start();
  }
}

function hide() {
  if (['paused', 'refused'].includes($('state').dataset.state)) return; // there is no connection
  hidden = true;
  pause('The page was out of sight.');
  peek();
}

async function peek() {
  let verdict = {level: 'good', title: 'Ready', more: '', detail: ''};
  try {
    await request('readyz', {accept: 'text/plain'});
  } catch (error) {
    verdict = error instanceof Refusal
      ? {level: 'bad', title: 'Not ready', more: '', detail: error.message}
      : {level: 'unknown', title: 'Unknown', more: unknown.disconnected, detail: ''};
  }
  if (!hidden) return;
  judge(verdict);
  hiding = setTimeout(peek, peekEvery * 1000);
}

document.addEventListener('visibilitychange', look);
look(); // a tab may be opened behind others

// -- sign in

function signIn() {
  $('verdict').hidden = true;
  document.title = 'Sign in · uidring';
  $('sign-in').hidden = false;
  $('content').hidden = true;
  show($('sign-in-error'), token.get() ? 'The service does not accept this token.' : '');
  token.drop();
  $('token').value = '';
  $('token').focus();
}

$('sign-in-form').addEventListener('submit', (event) => {
  event.preventDefault();
  const text = $('token').value.trim();
  if (!/^[\x21-\x7e]+$/.test(text)) {
    show($('sign-in-error'), 'A token has letters, digits and signs of ASCII only, no spaces.');
    return;
  }
  token.set(text);
  show($('sign-in-error'), '');
  stream.start();
});

$('sign-out').addEventListener('click', () => {
  token.drop();
  location.reload(); // leaves nothing of what was shown
});

// -- what the stream tells

// introduce takes "about". It comes with each connection: the service may have been started anew.
function introduce(data) {
  const same = about && JSON.stringify([about.layout, about.epoch]) === JSON.stringify([data.layout, data.epoch]);
  about = data;
  if (!same) { // what was decoded would be read in another way now
    drawWorker = picture($('worker-bits'), about.layout);
    drawDecoded = picture($('decoded-bits'), about.layout);
    show($('decode-summary'), '');
    $('decoded').hidden = true;
  }
  samples();
}

// judge shows a verdict, in the title and the icon of the tab, too.
function judge({level, title, more, detail, book}) {
  $('verdict').hidden = false;
  $('verdict').dataset.level = level;
  show($('verdict-title'), title);
  show($('verdict-more'), more);
  show($('verdict-detail'), detail);
  $('verdict-book').hidden = !book;
  $('verdict-book').href = book ?? '';
  document.title = [title + more, about?.host, reading && `worker ${reading.worker}`, 'uidring'].filter(Boolean).join(' · ');
  const icon = `assets/icon-${level}.svg`;
  if ($('icon').getAttribute('href') !== icon) $('icon').setAttribute('href', icon);
}

function update(stats) {
  reading = stats;
  drawFigures(about, stats);
  judge(stats.verdict);
  const up = about.started && `up ${duration(Math.max(1, Math.round(stats.time - about.started)))}`;
  show($('version'), [about.host, `worker ${integer(stats.worker)}`, about.namespace && `namespace ${about.namespace}`, about.version, up].filter(Boolean).join(' · '));
  worker(stats);
  segments(stats.segments ?? []);
}

// servers takes the event "servers". The list is the last one if the store has failed since.
function servers({time, failed, servers: all, more}) {
  $('servers').hidden = false;
  $('servers-table').hidden = all.length === 0;
  const body = $('servers-body');
  rows(body, all.map(({worker: id, owner, ahead, left}) => [integer(id), owner, instant(Math.floor(time + ahead)).replace(' UTC', ''),
    signed(Math.round(ahead)), left > 0 ? `${duration(Math.round(left))} left` : `expired ${duration(Math.round(left))} ago`]));
  all.forEach(({worker: id, left}, i) => {
    body.children[i].classList.toggle('own', id === reading?.worker);
    body.children[i].lastChild.classList.toggle('bad', left <= 0);
  });
  show($('servers-note'), [
    failed && 'The store of worker IDs does not answer.', more > 0 && `${integer(more)} more are not shown.`,
    all.length > 0 && `As of ${clock(time)} UTC, by the clock of the store.`].filter(Boolean).join(' '));
  $('servers-note').classList.toggle('error', failed);
}

// samples fills the box "Get IDs".
function samples() {
  const url = about.apiPort ? `${location.protocol}//${location.hostname}:${about.apiPort}` : location.origin;
  show($('get-lead'), about.tokens
    ? 'Requests need a token: ask the operator for one, and keep it in the environment variable UIDRING_TOKEN.'
    : 'This service asks for no token.');
  show($('get-metrics'), about.tokens ? ', with the token' : '');
  const header = about.tokens ? ' -H "Authorization: Bearer $UIDRING_TOKEN"' : '';
  show($('get-curl'), `curl ${url}/v1/id${header}\ncurl "${url}/v1/ids?n=3"${header} -H "Accept: text/plain"`);
  show($('get-python'), [
    `import json${about.tokens ? ', os' : ''}, urllib.request`,
    `request = urllib.request.Request("${url}/v1/ids?n=3")`,
    ...(about.tokens ? ['request.add_header("Authorization", "Bearer " + os.environ["UIDRING_TOKEN"])'] : []),
    'with urllib.request.urlopen(request, timeout=5) as response:',
    '    print([int(id) for id in json.load(response)["ids"]])',
  ].join('\n'));
}

function segments(all) {
  $('segments').hidden = all.length === 0;
  rows($('segments-body'), all.map(({name, last, remaining, step, failing}) =>
    [name, last !== '0' ? integer(last) : failing ? '–' : 'not used yet', integer(remaining), step === '0' ? '–' : integer(step)]));
  all.forEach(({remaining, failing}, i) => $('segments-body').children[i].children[2].classList.toggle('bad', failing && remaining === '0'));
}

function worker(stats) {
  const {layout} = about;
  drawWorker({delta: stats.lastDelta, datacenter: stats.datacenter, worker: stats.worker});
  const expires = Date.parse(about.expires) / 1000;
  list($('facts'), [
    ['Worker ID', integer(stats.worker), layout.datacenter ? `in datacenter ${integer(stats.datacenter)}` : ''],
    ['Guarantee', stats.guarantee, guarantees[stats.guarantee]],
    ['Layout', [layout.delta, layout.datacenter, layout.worker, layout.sequence].join('/'), `delta counts units of ${duration(layout.unit)}`],
    ['Epoch', instant(about.epoch), 'where delta is 0'],
    ['Layout ends', instant(about.expires), distance(expires, stats.time)],
    ['Store of worker IDs', about.store || '–', about.local ? 'of this host only' : ''],
  ]);
}

// -- one ID

const parse = async (text) => (await request(`v1/parse/${encodeURIComponent(text)}`, {accept: 'application/json'})).json();

$('decode-form').addEventListener('submit', (event) => {
  event.preventDefault();
  const text = $('id').value.trim();
  ask(() => {
    if (text === '') throw new Refusal(400, 'Paste an ID first.');
    return parse(text);
  });
});

$('draw').addEventListener('click', () => ask(async (current) => {
  const answer = await request('v1/id', {accept: 'text/plain'});
  const text = (await answer.text()).trim();
  if (current()) $('id').value = text;
  return parse(text);
}));

// ask shows the ID that a question leads to, or why there is none. What comes after a later question is not shown.
let asked = 0;
async function ask(question) {
  const turn = ++asked;
  const current = () => turn === asked;
  let id;
  try {
    id = await question(current);
  } catch (error) {
    if (current()) refused(error);
    return;
  }
  if (current()) decoded(id);
}

function decoded(id) {
  const {layout} = about;
  const values = split(id.id, layout);
  const away = distance(Date.parse(id.time) / 1000, Date.now() / 1000);
  const place = layout.datacenter ? ` in datacenter ${integer(values.datacenter)}` : '';
  $('id').removeAttribute('aria-invalid');
  show($('decode-error'), '');
  show($('decode-summary'), `Made by worker ${integer(values.worker)}${place}, with a time of ${instant(id.time)} (${away}), as number ${integer(values.sequence)} of its unit.`);
  drawDecoded(values);
  list($('decoded-forms'), [['Decimal', id.id], ['Base32', id.base32], ['Base62', id.base62]]);
  $('decoded').hidden = false;
}

function refused(error) {
  show($('decode-summary'), '');
  $('decoded').hidden = true;
  show($('decode-error'), error.message);
  $('id').setAttribute('aria-invalid', String(error.status === 400));
  if (error.status === 401) stream.start(); // it will ask for a token
}

stream.start();
