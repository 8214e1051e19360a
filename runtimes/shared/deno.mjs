// Pieces of the contenders on Deno.serve.

import { MAX_BODY, TOO_LARGE } from './embed.mjs';
import { embed, message, methodNotAllowed, notFound, pathOf } from './web.mjs';

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

async function readJson(request) {
  const text = await request.text();
  return text.length > MAX_BODY ? message(413, TOO_LARGE) : JSON.parse(text);
}

// A handler of `POST path` that gives the text to embed to `answer(text)`.
export function embedAt(path, answer) {
  const handler = embed(readJson, answer);
  return (request) => {
    if (pathOf(request.url) !== path) return notFound();
    if (request.method !== 'POST') return methodNotAllowed('POST');
    return handler(request);
  };
}
