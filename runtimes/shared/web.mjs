// Pieces of the contenders on web-standard Request and Response (Deno, Bun).

import { MALFORMED, MISSING, textOf } from './embed.mjs';

// The path of an absolute http(s) URL, without its query.
export function pathOf(url) {
  const start = url.indexOf('/', 8);
  const end = url.indexOf('?', start);
  return end < 0 ? url.slice(start) : url.slice(start, end);
}

export const notFound = () => new Response(null, { status: 404 });

export const methodNotAllowed = (allow) => new Response(null, { status: 405, headers: { allow } });

export const message = (status, text) => Response.json({ message: text }, { status });

// A handler that reads JSON with `read(request)` and gives the text to embed to `answer(text)`.
// `read` may give a Response instead, which is then the answer.
export function embed(read, answer) {
  return async (request) => {
    let body;
    try {
      body = await read(request);
    } catch {
      return message(400, MALFORMED);
    }
    if (body instanceof Response) return body;
    const text = textOf(body);
    return text === undefined ? message(400, MISSING) : answer(text);
  };
}
