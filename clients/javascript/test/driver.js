// Draws IDs as its standard input says; the tests of cmd/uidring/internal/daemon run it.
import { createInterface } from "node:readline";
import { Client, ClosedError, RejectedError, UnavailableError } from "uidring";
import { checkClient } from "./checks.js";

let ids;

await checkClient();

function kind(error) {
  if (error instanceof RejectedError) return `rejected ${error.status} ${error.type}`;
  if (error instanceof ClosedError) return "closed";
  if (error instanceof UnavailableError) return "unavailable";
  return error instanceof TypeError ? "invalid" : "other";
}

const commands = {
  open(servers, token, batch, timeout, wait, maxAge) {
    ids?.close();
    ids = new Client({
      servers: servers.split(",").filter(Boolean), token, batch: Number(batch), timeout: Number(timeout), wait: Number(wait), maxAge: Number(maxAge),
    });
  },

  async take(n, takers) {
    const drawn = [];
    const takes = Array.from({ length: takers }, async () => {
      for (let i = 0; i < n / takers; i++) drawn.push(await ids.next());
    });
    const results = await Promise.allSettled(takes);
    if (drawn.length > 0) process.stdout.write(`${drawn.join("\n")}\n`);
    for (const { reason } of results) if (reason) throw reason;
  },

  // Closes the client while a call waits, or before it begins, and wants that call to say so.
  async close() {
    const closed = (async () => {
      while (true) {
        try {
          await ids.next();
        } catch (error) {
          if (error instanceof ClosedError) return;
        }
      }
    })();
    ids.close();
    await closed;
    await ids.next();
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const [name, ...args] = line.split(" ");
  try {
    await commands[name](...args);
    process.stdout.write("ok\n");
  } catch (error) {
    process.stdout.write(`error ${kind(error)} | ${error.message}\n`);
  }
}
