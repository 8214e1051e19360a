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

// A handler of `POST path` that gives the text to embed to `answer(text)`.
export function embedAt(path, answer) {
  return async (request) => {
    if (pathOf(request.url) !== path) return notFound();
    if (request.method !== 'POST') return methodNotAllowed('POST');
    let body;
    try {
      const json = await request.text();
      if (json.length > MAX_BODY) return message(413, TOO_LARGE);
      body = JSON.parse(json);
    } catch {
      return message(400, MALFORMED);
    }
    const text = textOf(body);
    return text === undefined ? message(400, MISSING) : answer(text);
  };
}
