// Compiled, not run, by the tests of cmd/uidring/internal/daemon.
import { Client, ClosedError, type Options, RejectedError, UidringError, UnavailableError } from "uidring";

const options: Options = { servers: ["http://127.0.0.1:8080"], token: "t", segment: "orders", batch: 10, timeout: 1, wait: 1, maxAge: 1, fetch };
const ids = new Client(options);
const id: bigint = await ids.next({ wait: 0, signal: AbortSignal.timeout(1) });
for await (const each of ids) {
  const sum: bigint = each + id;
  console.log(sum);
  break;
}
try {
  await ids.next();
} catch (error) {
  if (error instanceof RejectedError) console.log(error.status.toFixed(), error.type.length, error.title, error.detail, error.server);
  else if (error instanceof UnavailableError) for (const [url, cause] of error.servers) console.log(url, cause.message);
  else if (error instanceof ClosedError || error instanceof UidringError) console.log(error.message);
}
ids.close();
// @ts-expect-error: IDs are no numbers
const number: number = await ids.next();
// @ts-expect-error: an option that does not exist
new Client({ servers: [], retries: 3 });
export { number };
