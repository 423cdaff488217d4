// Requests to the service, with the token of this tab.

const key = 'uidring.token';

export const token = {
  get: () => sessionStorage.getItem(key),
  set: (value) => sessionStorage.setItem(key, value),
  drop: () => sessionStorage.removeItem(key),
};

// A Refusal is an answer that is not 2xx. Its message is the detail of the problem that came with it.
export class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

// request resolves to an answer of 2xx. It rejects with a Refusal, or with an Error whose message is for people.
export async function request(path, {accept, signal} = {}) {
  const headers = new Headers({Accept: accept});
  if (token.get()) headers.set('Authorization', `Bearer ${token.get()}`);
  let answer;
  try {
    answer = await fetch(path, {headers, signal, cache: 'no-store', credentials: 'omit', redirect: 'error'});
  } catch (cause) {
    throw new Error('The service cannot be reached.', {cause});
  }
  if (answer.ok) return answer;
  throw new Refusal(answer.status, await detail(answer));
}

async function detail(answer) {
  try {
    const problem = await answer.json();
    if (problem.detail || problem.title) return problem.detail || problem.title;
  } catch {
    // Not JSON: from something between here and the service.
  }
  return `The service answered ${answer.status} ${answer.statusText}`.trim() + '.';
}
