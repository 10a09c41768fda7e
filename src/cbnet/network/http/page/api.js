// Requests to the router that serves this page, with the bearer token of this tab.

const KEY = "cbnet-token";
const MAX_SILENCE = 40_000; // ms; the router sends a comment at least every 15 s

/** An error that the router reports: a problem document. */
export class Problem extends Error {
  constructor(members) {
    const place = members.line ? ` (line ${members.line}${members.column ? `, column ${members.column}` : ""})` : "";
    super((members.detail ?? members.title ?? "unknown error") + place);
    this.status = members.status ?? 0;
    this.hint = members.hint ?? "";
  }
}

export const token = {
  get: () => sessionStorage.getItem(KEY) ?? "",
  set: (value) => (value ? sessionStorage.setItem(KEY, value) : sessionStorage.removeItem(KEY)),
};

async function request(path, options = {}) {
  const headers = { ...options.headers, ...(token.get() ? { Authorization: `Bearer ${token.get()}` } : {}) };
  let response;
  try {
    response = await fetch(path, { ...options, headers, cache: "no-store" });
  } catch (error) {
    if (options.signal?.aborted) throw options.signal.reason;
    throw new Problem({ detail: "The router does not answer." });
  }
  if (response.ok) return response;
  const members = await response.json().catch(() => ({}));
  throw new Problem({ status: response.status, title: response.statusText, ...members });
}

/** Return the JSON answer to a GET. */
export const get = async (path) => (await request(path)).json();

/** Return the JSON answer to a POST. */
export const post = async (path, body, signal) =>
  (await request(path, { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" }, signal })).json();

/** Yield server-sent events, {name, id, data}, until the stream ends. `EventSource` cannot send a token. */
export async function* events(path, signal) {
  const silence = new AbortController();
  const both = AbortSignal.any([signal, silence.signal]);
  const wait = (next) => {
    const timer = setTimeout(() => silence.abort(new Problem({ detail: `The router has sent nothing for ${MAX_SILENCE / 1000} s.` })), MAX_SILENCE);
    return next.catch((error) => {
      throw both.aborted ? both.reason : error;
    }).finally(() => clearTimeout(timer));
  };
  const response = await wait(request(path, { signal: both, headers: { Accept: "text/event-stream" } }));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  while (true) {
    const { value, done } = await wait(reader.read());
    if (done) return;
    const blocks = (waiting + value).split("\n\n");
    waiting = blocks.pop();
    for (const block of blocks) {
      const members = Object.fromEntries(
        block.split("\n").filter((line) => line && !line.startsWith(":")).map((line) => line.split(/: (.*)/s)),
      );
      if (members.data === undefined) continue;
      const data = JSON.parse(members.data);
      if (members.event === "error") throw new Problem(data);
      yield { name: members.event ?? "message", id: members.id ?? "", data };
    }
  }
}
