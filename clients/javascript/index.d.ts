/** Options of a {@link Client}. Times are in milliseconds. */
export interface Options {
  /** URLs, such as "https://ids-1.example.com", of one namespace or with different datacenters. */
  servers: readonly string[];
  /** Sent to every server. */
  token?: string;
  /** The name of a segment to take IDs from; absent: the generator of the servers. */
  segment?: string;
  /** IDs of a request, 1 to 100,000; default 1,000. A server may have a lower limit. */
  batch?: number;
  /** Bounds each request; default 2,000. */
  timeout?: number;
  /** How long `next` waits while no server gives IDs; default 5,000. */
  wait?: number;
  /**
   * How long after the request for it an ID may wait for its use; older ones are dropped. A server
   * sets a bound, by default 60,000, that holds if it is shorter. Default 60,000.
   */
  maxAge?: number;
  /** Sends the requests; default: the global fetch. */
  fetch?: typeof fetch;
}

/** Issues IDs that it fetches from servers in the background. Make one per process and share it. */
export class Client implements AsyncIterable<bigint> {
  /** Begins to fetch IDs. Throws a TypeError that names all mistakes of the options. */
  constructor(options: Options);
  /**
   * Resolves to an ID from memory. While there is none it waits.
   *
   * Rejects with an {@link UnavailableError} if no server gave IDs in time, with a
   * {@link RejectedError} if all servers reject the request, with a {@link ClosedError}, and with
   * the reason of the signal.
   */
  next(options?: { wait?: number; signal?: AbortSignal }): Promise<bigint>;
  /** Drops the IDs in memory, and ends the requests and calls under way. It may be called again. */
  close(): void;
  /** Iterates over IDs without an end. */
  [Symbol.asyncIterator](): AsyncIterator<bigint>;
}

/** The base of the errors of a {@link Client}. */
export class UidringError extends Error {}

/** The client was closed. */
export class ClosedError extends UidringError {}

/** No server gave IDs in time. */
export class UnavailableError extends UidringError {
  /** The last error of each server that is not well, by URL. */
  readonly servers: ReadonlyMap<string, Error>;
}

/**
 * An answer of a server without IDs. A call rejects with it if every server rejects the request:
 * the token is unknown (status 401), the batch is larger than the servers allow (400), or they have
 * no such segment (404).
 */
export class RejectedError extends UidringError {
  readonly server: string;
  readonly status: number;
  /** Stable, such as https://github.com/uidring/uidring/blob/main/docs/SERVICE.md#unauthorized. */
  readonly type: string;
  readonly title: string;
  /** For people. */
  readonly detail: string;
}
