// Pieces of the contenders on Deno.serve.

import { MALFORMED, MAX_BODY, MISSING, TOO_LARGE, textOf } from './embed.mjs';
import { message, methodNotAllowed, notFound, pathOf } from './web.mjs';

export const listen = () => ({
  hostname: Deno.env.get('HOST'),
  port: Number(Deno.env.get('PORT')),
  onListen() {},
});

export const listenTls = () => ({
  ...listen(),
  key: Deno.readTextFileSync(Deno.env.get('TLS_KEY')),
  cert: Deno.readTextFileSync(Deno.env.get('TLS_CERT')),
});

// JSON with its size checked, as Deno has no limit of its own; undefined where it is too large.
// `json()` costs less than `text()`, so the length of most bodies is taken from their header.
function readJson(request) {
  const length = request.headers.get('content-length');
  return length !== null && length <= MAX_BODY ? request.json() : readUnsized(request);
}

async function readUnsized(request) {
  const chunks = [];
  let length = 0;
  for await (const chunk of request.body ?? []) {
    length += chunk.length;
    if (length <= MAX_BODY) chunks.push(chunk);
  }
  return length <= MAX_BODY ? new Response(new Blob(chunks)).json() : undefined;
}

// A handler of `POST path` that gives the text to embed to `answer(text)`.
export function embedAt(path, answer) {
  return async (request) => {
    if (pathOf(request.url) !== path) return notFound();
    if (request.method !== 'POST') return methodNotAllowed('POST');
    let body;
    try {
      body = await readJson(request);
    } catch {
      return message(400, MALFORMED);
    }
    if (body === undefined) return message(413, TOO_LARGE);
    const text = textOf(body);
    return text === undefined ? message(400, MISSING) : answer(text);
  };
}
