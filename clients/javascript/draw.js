import { RejectedError } from "./errors.js";

const LARGEST_ID = 2n ** 63n - 1n;

/** Draws a batch of IDs from a server: ranges with their first ID and count. */
export async function draw(fetch, server, batch, token, signal) {
  const headers = { Accept: "application/json" };
  if (token !== undefined) headers.Authorization = `Bearer ${token}`;
  // A redirect to another host must not get the token.
  const answer = await fetch(server.url, { headers, signal, redirect: "manual" });
  const body = await read(answer, 65_536 + 64 * batch);
  if (answer.status !== 200) throw problem(server.name, answer, body);
  return parse(body, batch);
}

/** Returns the text of an answer, and fails beyond a number of bytes: a wrong server may send without end. */
async function read(answer, most) {
  const decoder = new TextDecoder();
  let text = "";
  for await (const part of answer.body ?? []) {
    most -= part.length;
    if (most < 0) throw new Error("invalid answer: too long"); // and ends the request
    text += decoder.decode(part, { stream: true });
  }
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
  const seconds = Number(answer.headers.get("Retry-After"));
  return new RejectedError(server, answer.status, Object(document), seconds > 0 ? seconds * 1000 : 0);
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
