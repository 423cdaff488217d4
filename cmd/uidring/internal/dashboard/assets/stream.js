// The stream of server-sent events, read with fetch, since EventSource cannot send a token.

import {Refusal, request} from './api.js';

const longestPause = 15; // seconds
const silence = 15_000; // milliseconds without a byte after which the connection is taken for lost

// A Stream keeps /events open: when it ends, it is opened again, after 1, 2, 4 … 15 seconds.
//   event(name, data)  is called for each event
//   state(name, more)  with 'connecting', 'live', 'disconnected' ({reason, seconds} until the next try) or 'refused' (401)
export class Stream {
  #event;
  #state;
  #run = null; // aborts what is under way
  #wake = null; // ends the pause before the next try

  constructor({event, state}) {
    this.#event = event;
    this.#state = state;
  }

  start() {
    this.stop();
    this.#run = new AbortController();
    this.#keep(this.#run.signal);
  }

  stop() {
    this.#run?.abort();
    this.#wake?.();
    this.#run = null;
  }

  // retry ends the pause before the next try, or starts a stream that was stopped.
  retry() {
    if (this.#run) this.#wake?.();
    else this.start();
  }

  async #keep(stopped) {
    this.#state('connecting');
    for (let failures = 0; ; failures++) {
      let reason = 'The service has ended the connection.';
      try {
        await this.#read(stopped, () => { failures = 0; });
      } catch (error) {
        if (!stopped.aborted && error instanceof Refusal && error.status === 401) return this.#state('refused');
        reason = error.message;
      }
      if (stopped.aborted) return undefined;
      const seconds = Math.min(2 ** failures, longestPause);
      this.#state('disconnected', {reason, seconds});
      await this.#pause(seconds);
      if (stopped.aborted) return undefined;
    }
  }

  // read follows one connection to its end.
  async #read(stopped, alive) {
    const silent = new AbortController();
    const fallen = new Error('The service has fallen silent.');
    let timer;
    const heard = () => {
      clearTimeout(timer);
      timer = setTimeout(() => silent.abort(fallen), silence);
    };
    heard();
    try {
      const answer = await request('events', {accept: 'text/event-stream', signal: AbortSignal.any([stopped, silent.signal])});
      const text = new TextDecoder();
      let rest = '';
      const reader = answer.body.getReader();
      for (;;) {
        const {done, value} = await reader.read();
        if (done) return;
        const events = (rest + text.decode(value, {stream: true})).split('\n\n');
        rest = events.pop();
        for (const event of events) {
          const [, name, data] = event.match(/^event: (.*)\ndata: (.*)$/) ?? [];
          if (name) this.#take(name, JSON.parse(data), alive);
        }
        heard();
      }
    } catch (error) {
      if (silent.signal.aborted) throw fallen;
      throw error instanceof TypeError ? new Error('The connection was lost.', {cause: error}) : error;
    } finally {
      clearTimeout(timer);
    }
  }

  #take(name, data, alive) {
    if (name === 'about') {
      alive();
      this.#state('live');
    }
    try {
      this.#event(name, data);
    } catch (error) {
      reportError(error); // a mistake of the page, not of the connection
    }
  }

  #pause(seconds) {
    return new Promise((resolve) => {
      this.#wake = resolve;
      setTimeout(resolve, seconds * 1000);
    });
  }
}
