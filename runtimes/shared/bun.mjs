// Pieces of the contenders on Bun.serve.

import { MALFORMED, MAX_BODY, MISSING, textOf } from './embed.mjs';
import { message, methodNotAllowed, notFound, pathOf } from './web.mjs';

const { HOST, PORT, TLS_KEY, TLS_CERT } = process.env;

export const listen = { hostname: HOST, port: PORT, development: false };

export const listenTls = () => ({
  ...listen,
  tls: { key: Bun.file(TLS_KEY), cert: Bun.file(TLS_CERT) },
});

// One path by Bun's router, a handler for each method: other methods are 405, other paths 404.
export function only(path, methods) {
  const allow = Object.keys(methods).join(', ');
  return {
    routes: { [path]: methods },
    fetch: ({ url }) => (pathOf(url) === path ? methodNotAllowed(allow) : notFound()),
  };
}

// `POST path` that gives the text to embed to `answer(text)`.
export function embedAt(path, answer) {
  const POST = async (request) => {
    let body;
    try {
      body = await request.json();
    } catch {
      return message(400, MALFORMED);
    }
    const text = textOf(body);
    return text === undefined ? message(400, MISSING) : answer(text);
  };
  return { ...only(path, { POST }), maxRequestBodySize: MAX_BODY };
}
