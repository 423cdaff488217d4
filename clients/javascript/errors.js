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
export function isFinal(error) {
  return error instanceof RejectedError && error.status < 500 && error.status !== 408 && error.status !== 429;
}

function describe(url, error) {
  if (error instanceof RejectedError) return error.message;
  return `${url}: ${[error.message, error.cause?.message || error.cause?.code].filter(Boolean).join(": ")}`;
}
