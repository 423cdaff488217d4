const LARGEST_BATCH = 100_000;
const SLOW_AFTER = 100; // ms; then another server is asked, too
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 30_000;
const LONELIEST_PAUSE = 1_000; // the longest one while no server is well
const LONGEST_TIMER = 2 ** 31 - 1; // setTimeout fires at once after longer ones
const MOST_STREAMS = 1_000; // bounds the memory
const LARGEST_ID = 2n ** 63n - 1n;

export class Client {
  #options;
  #servers;
  #ranges = []; // of consecutive IDs: {first, count, end}, where end is when they are too old
  #left = 0; // IDs in ranges
  #waiting = new Set(); // calls of next, in their order
  #ending = new AbortController(); // aborted by close
  #timer; // of the next request

  constructor(options) {
    this.#options = check(options);
    const { segment, batch, servers } = this.#options;
    const path = segment === undefined ? "/v1/ids" : `/v1/segments/${segment}`;
    const shuffled = servers.map((server) => [Math.random(), server]).sort(([a], [b]) => a - b); // so that not all clients begin with the same server
    this.#servers = shuffled.map(([, server]) => {
      const name = base(server);
      // error: of the last request; a server without one is well.
      // last: the last ID of each stream, in the order of their last answers.
      return { name, url: `${name}${path}?form=ranges&n=${batch}`, last: new Map(), busy: false, asked: 0, failed: 0, error: undefined, pause: 0, early: 0 };
    });
    this.#prefetch();
  }

  async next({ wait = this.#options.wait, signal } = {}) {
    signal?.throwIfAborted();
    if (this.#ending.signal.aborted) throw new ClosedError();
    this.#dropOld();
    if (this.#left > 0 && this.#waiting.size === 0) return this.#take();
    this.#throwIfRejected();
    return new Promise((resolve, reject) => {
      const call = {
        settle: (id) => { end(); resolve(id); },
        fail: (error) => { end(); reject(error); },
      };
      const stopTimer = startTimer(wait, () => call.fail(this.#unavailable(wait)));
      const abort = () => call.fail(signal.reason);
      const end = () => {
        stopTimer();
        signal?.removeEventListener("abort", abort);
        this.#waiting.delete(call);
      };
      signal?.addEventListener("abort", abort);
      this.#waiting.add(call);
    });
  }

  close() {
    this.#ending.abort();
    clearTimeout(this.#timer);
    this.#ranges = [];
    for (const call of this.#waiting) call.fail(new ClosedError());
  }

  async *[Symbol.asyncIterator]() {
    while (true) yield await this.next();
  }

  #take() {
    const range = this.#ranges[0];
    const id = range.first++;
    if (--range.count === 0) this.#ranges.shift();
    this.#lose(1);
    return id;
  }

  #dropOld() {
    const now = performance.now();
    while (this.#ranges.length > 0 && this.#ranges[0].end < now) this.#lose(this.#ranges.shift().count);
  }

  /** Counts n IDs fewer in memory, and fetches others when they become few. */
  #lose(n) {
    const before = this.#left;
    this.#left -= n;
    if (before > this.#options.batch && this.#left <= this.#options.batch) this.#prefetch();
  }

  /** Sends the requests that are due, and sets a timer for the next one. */
  #prefetch() {
    clearTimeout(this.#timer);
    while (this.#left <= this.#options.batch && !this.#ending.signal.aborted) {
      const { server, next } = this.#choose(performance.now());
      if (server === undefined) {
        if (next === Infinity) return;
        this.#timer = setTimeout(() => this.#prefetch(), Math.ceil(next - performance.now()));
        this.#timer.unref?.(); // a call that waits keeps the process alive, a pause does not
        return;
      }
      this.#ask(server);
    }
  }

  /** Returns the server to ask now, or when to choose again. */
  #choose(now) {
    const { batch } = this.#options;
    let expected = this.#left;
    let next = Infinity;
    let well; // idle, and asked longest ago
    for (const server of this.#servers) {
      const isWell = server.error === undefined;
      if (server.busy) {
        if (!isWell || now >= server.asked + SLOW_AFTER) continue;
        expected += batch;
        next = Math.min(next, server.asked + SLOW_AFTER);
      } else if (isWell) {
        if (well === undefined || server.asked < well.asked) well = server;
      } else {
        const retry = this.#retryAt(server);
        if (retry <= now) return { server }; // the others are asked as well, since its answer is not expected
        next = Math.min(next, retry);
      }
    }
    return expected > batch ? { next } : { server: well, next };
  }

  #retryAt({ failed, pause, early, error }) {
    if (this.#servers.every((s) => s.error !== undefined)) pause = Math.min(pause, LONELIEST_PAUSE);
    return failed + Math.max(pause * (1 - early), Math.min(error.retryAfter ?? 0, LONGEST_PAUSE));
  }

  async #ask(server) {
    const { batch, timeout } = this.#options;
    server.busy = true;
    server.asked = performance.now();
    const request = new AbortController();
    const abort = () => request.abort();
    this.#ending.signal.addEventListener("abort", abort);
    const stopTimer = startTimer(timeout, () => request.abort(new Error(`no answer within ${timeout} ms`)));
    try {
      const { ranges, maxAge } = await draw(this.#options, server, request.signal);
      const age = performance.now() - server.asked;
      if (age > maxAge) throw new Error(`an answer after ${Math.round(age)} ms, with IDs that may be kept for ${maxAge} ms`);
      server.error = undefined;
      server.pause = 0;
      for (const range of ranges) this.#ranges.push({ ...range, end: server.asked + maxAge });
      this.#left += batch;
    } catch (error) {
      server.error = error;
      server.failed = performance.now();
      server.pause = Math.min(Math.max(2 * server.pause, FIRST_PAUSE), LONGEST_PAUSE);
      server.early = Math.random() / 4; // so that clients do not return at once
    }
    server.busy = false;
    stopTimer();
    this.#ending.signal.removeEventListener("abort", abort);
    this.#serveCalls();
    this.#prefetch();
  }

  #serveCalls() {
    for (const call of this.#waiting) {
      try {
        this.#dropOld();
        if (this.#left === 0) this.#throwIfRejected();
        if (this.#left === 0) return;
        call.settle(this.#take());
      } catch (error) {
        call.fail(error);
      }
    }
  }

  #throwIfRejected() {
    if (this.#servers.every((s) => isFinal(s.error))) throw this.#servers[0].error;
  }

  #unavailable(wait) {
    return new UnavailableError(wait, new Map(this.#servers.filter((s) => s.error !== undefined).map((s) => [s.name, s.error])));
  }
}

/** Returns the options with their defaults, or throws all their mistakes. */
function check({ servers, token, segment, batch = 1000, timeout = 2000, wait = 5000, maxAge = 60_000, fetch = globalThis.fetch, ...unknown } = {}) {
  const known = { servers, token, segment, batch, timeout, wait, maxAge, fetch };
  const mistakes = Object.keys(unknown).map((name) => `unknown option ${name}, allowed: ${Object.keys(known).join(", ")}`);
  if (!Array.isArray(servers) || servers.length === 0) mistakes.push("servers has no URL, allowed: an array of one or more");
  else {
    servers.forEach((server, i) => {
      if (!isServer(server)) mistakes.push(`servers[${i}] is not a valid URL, allowed: http:// or https://, a host, and optionally a port and a path`);
      else if (servers.findIndex((s) => base(s) === base(server)) < i) mistakes.push(`servers[${i}] is a URL before it again, allowed: each URL once`);
    });
  }
  if (token !== undefined && !/^[!-~]+$/.test(token)) mistakes.push("token is empty or has characters that no token has");
  if (segment !== undefined && !/^[0-9A-Za-z._-]{1,64}$/.test(segment)) mistakes.push("segment is not a name of 1 to 64 letters, digits, dots, underscores and hyphens");
  if (!Number.isInteger(batch) || batch < 1 || batch > LARGEST_BATCH) mistakes.push(`batch is ${batch}, allowed: 1 to ${LARGEST_BATCH}`);
  for (const [name, value] of Object.entries({ timeout, maxAge })) {
    if (!(value > 0)) mistakes.push(`${name} is ${value}, allowed: more than 0 ms`);
  }
  if (!(wait >= 0)) mistakes.push(`wait is ${wait}, allowed: 0 ms or more`);
  if (mistakes.length > 0) throw new TypeError(`uidring: ${mistakes.join("; ")}`);
  return known;
}

/** Tells whether a text is the URL of a server. A password in it would show in errors. */
function isServer(text) {
  try {
    const url = new URL(text);
    return ["http:", "https:"].includes(url.protocol) && url.username === "" && url.password === "" && !/[?#]/.test(text);
  } catch {
    return false;
  }
}

/** Returns a URL without the slashes at its end. */
function base(server) {
  return String(server).replace(/\/+$/, "");
}

/**
 * Calls f after a time, and returns a function that prevents it. If the event loop was blocked when
 * the time was over, f gets as long again, up to the time: answers that have come are read first.
 */
function startTimer(ms, f) {
  const end = performance.now() + ms;
  let timer = setTimeout(() => {
    const late = performance.now() - end;
    if (late < SLOW_AFTER) f();
    else timer = setTimeout(f, Math.min(late, ms));
  }, Math.min(ms, LONGEST_TIMER));
  return () => clearTimeout(timer);
}

/** Draws a batch of IDs from a server: ranges with their first ID and count, and how many ms after the request they may be kept. */
async function draw({ fetch, batch, token, maxAge }, server, signal) {
  const headers = { Accept: "application/json" };
  if (token !== undefined) headers.Authorization = `Bearer ${token}`;
  // A cache may answer a GET again, even against its headers. A redirect to another host must not get the token.
  const answer = await fetch(server.url, { method: "POST", headers, signal, redirect: "manual" });
  const body = await read(answer, 65_536 + 64 * batch, signal);
  if (answer.status !== 200) throw problem(server.name, answer, body);
  const ranges = parse(body, batch);
  const age = Math.min(maxAge, allowed(answer));
  follow(server.last, answer.headers.get("Uidring-Stream") ?? "", ranges);
  return { ranges, maxAge: age };
}

/**
 * Refuses ranges that are not above the last ID of their stream: a proxy or server that repeats an
 * answer has given them before. The stream is "" if a proxy drops the header.
 */
function follow(known, stream, ranges) {
  if (!/^[0-9A-Za-z._-]{0,64}$/.test(stream)) {
    throw new Error(`invalid answer: Uidring-Stream "${stream.slice(0, 64)}", allowed: 1 to 64 letters, digits, dots, underscores and hyphens`);
  }
  let last = known.get(stream) ?? 0n;
  for (const { first, count } of ranges) {
    if (first <= last) {
      throw new Error(`invalid answer: a range of ${count} IDs from ${first}, allowed: above ${last}, the last ID of stream "${stream}" from this server`);
    }
    last = first + BigInt(count) - 1n;
  }
  known.delete(stream);
  if (known.size === MOST_STREAMS) known.delete(known.keys().next().value);
  known.set(stream, last);
}

/** Returns the limit of the server in ms: the horizon of a namespace passes IDs that are kept longer. Segments have no horizon and no limit. */
function allowed(answer) {
  const seconds = answer.headers.get("Uidring-Max-Age");
  if (seconds === null) return Infinity;
  if (!/^[0-9]{1,9}$/.test(seconds)) throw new Error(`invalid answer: Uidring-Max-Age "${seconds.slice(0, 64)}", allowed: whole seconds`);
  return Number(seconds) * 1000;
}

/**
 * Returns the text of an answer. Beyond a number of bytes it fails, since a wrong server may send
 * without end, or cuts the text if the status says enough.
 */
async function read(answer, most, signal) {
  if (!answer.body) return "";
  const decoder = new TextDecoder();
  const reader = answer.body.getReader();
  const cancel = () => reader.cancel().catch(() => {}); // ends the request
  signal.addEventListener("abort", cancel); // the fetch of Node.js 18 forgets the signal when garbage is collected
  let text = "";
  for (let part; !(part = await reader.read()).done; ) {
    most -= part.value.length;
    if (most < 0) {
      cancel();
      if (answer.status !== 200) return text;
      throw new Error("invalid answer: too long");
    }
    text += decoder.decode(part.value, { stream: true });
  }
  signal.throwIfAborted();
  return text + decoder.decode();
}

/** Returns the error for an answer without IDs. Proxies answer without a problem document. */
function problem(server, answer, body) {
  let document;
  try {
    document = JSON.parse(body);
  } catch {
    // The status says enough.
  }
  const after = answer.headers.get("Retry-After") ?? "";
  return new RejectedError(server, answer.status, Object(document), /^[0-9]{1,9}$/.test(after) ? Number(after) * 1000 : 0);
}

/** Returns a text that is a decimal number. A number of JSON may have lost its last digits. */
function digits(text) {
  if (typeof text !== "string" || !/^[0-9]{1,19}$/.test(text)) throw new TypeError("an ID that is no decimal text");
  return text;
}

function parse(body, batch) {
  let ranges, total;
  try {
    ranges = JSON.parse(body).ranges.map(({ first, count }) => ({ first: BigInt(digits(first)), count }));
    total = ranges.reduce((sum, { count }) => sum + count, 0);
  } catch (error) {
    throw new Error("invalid answer", { cause: error });
  }
  for (const { first, count } of ranges) {
    if (!Number.isInteger(count) || count < 1 || first < 1n || first + BigInt(count) - 1n > LARGEST_ID) {
      throw new Error(`invalid answer: a range of ${count} IDs from ${first}`);
    }
  }
  if (total !== batch) throw new Error(`invalid answer: ${total} IDs, want ${batch}`);
  return ranges;
}

export class UidringError extends Error {
  get name() {
    return this.constructor.name;
  }
}

export class ClosedError extends UidringError {
  constructor() {
    super("the client is closed");
  }
}

export class UnavailableError extends UidringError {
  constructor(wait, servers) {
    super([`no server gave IDs within ${wait} ms`, ...[...servers].map(([url, e]) => describe(url, e))].join("; "));
    this.servers = servers;
  }
}

export class RejectedError extends UidringError {
  constructor(server, status, { type = "about:blank", title = "", detail = "" }, retryAfter) {
    super([`${server}: status ${status}`, title, detail].filter(Boolean).join(": "));
    Object.assign(this, { server, status, type, title, detail });
    Object.defineProperty(this, "retryAfter", { value: retryAfter, enumerable: false }); // ms
  }
}

/** Tells whether the servers would reject the request again. */
function isFinal(error) {
  return error instanceof RejectedError && error.status < 500 && error.status !== 408 && error.status !== 429;
}

function describe(url, error) {
  if (error instanceof RejectedError) return error.message;
  return `${url}: ${[error.message, error.cause?.message || error.cause?.code].filter(Boolean).join(": ")}`;
}
