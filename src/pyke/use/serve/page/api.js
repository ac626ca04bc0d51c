// Requests to the server.

const WAIT = 400;  // milliseconds before an unfinished answer is asked for again

export class Problem extends Error {}

const sleep = milliseconds => new Promise(done => setTimeout(done, milliseconds));

function address(path, parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined);
  const query = given.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
  return query ? `${path}?${query}` : path;
}

// `waiting` is called with the state of an answer that is being computed.
async function request(path, parameters, {signal, waiting} = {}) {
  for (;;) {
    let answer;
    try {
      answer = await fetch(address(path, parameters), {signal});
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Problem("The server does not answer. Is it still running?");
    }
    if (answer.status === 202) waiting?.(await answer.json());
    else if (answer.status !== 429) return answer;
    await sleep(WAIT);
    signal?.throwIfAborted();
  }
}

export async function ask(path, parameters = {}, options = {}) {
  const answer = await request(path, parameters, options);
  const value = await answer.json();
  if (!answer.ok) throw new Problem(value.error?.message ?? "The server has refused this.");
  return value;
}

export async function numbers(path, parameters = {}, options = {}) {
  const answer = await request(path, parameters, options);
  if (!answer.ok) throw new Problem((await answer.json()).error?.message ?? "No answer.");
  return answer.arrayBuffer();
}

// Ids and coordinates of points.
export async function points(path, parameters, options) {
  const buffer = await numbers(path, parameters, options);
  const [count, dimensions] = new Uint32Array(buffer, 0, 2);
  const ids = new Uint32Array(buffer, 8, count);
  return {count, dimensions, ids, coordinates: new Float32Array(buffer, 8 + 4 * count)};
}
