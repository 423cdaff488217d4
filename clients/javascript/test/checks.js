// Checks of the client that need no server of uidring; driver.js runs them at its start.
import { rejects, throws } from "node:assert/strict";
import { createServer } from "node:http";
import { Client } from "uidring";

export async function checkClient() {
  const servers = ["http://127.0.0.1:1"];
  throws(() => new Client({ servers, retries: 3 }), /^TypeError: uidring: unknown option retries, allowed: servers, token, /);
  throws(() => new Client({ servers: [...servers, "http://a", `${servers[0]}/`] }), /: servers\[2\] is a URL before it again, allowed: each URL once$/);

  let answered = 0;
  await withClient((answer) => answer.end(`{"ranges":[{"first":"${++answered}","count":1}]}`), async (ids) => {
    const next = ids.next();
    for (const start = performance.now(); performance.now() < start + 2100; ); // blocks the event loop
    await next;
  });
  await withClient((answer) => answer.writeHead(401).end(" ".repeat(200_000)), (ids) => rejects(ids.next(), /^RejectedError: .*: status 401$/));
  await withClient((answer) => answer.end(" ".repeat(200_000)), (ids) => rejects(ids.next(), /^UnavailableError: .* too long$/));
}

/** Calls f with a client of a server. */
async function withClient(answer, f) {
  const server = createServer((_, response) => answer(response));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const ids = new Client({ servers: [`http://127.0.0.1:${server.address().port}`], batch: 1, timeout: 1000, wait: 1000 });
  try {
    await f(ids);
  } finally {
    ids.close();
    server.close();
    server.closeAllConnections?.(); // not in Node.js 18.0
  }
}
