// Pieces of the Elysia contenders.

import { Elysia } from 'elysia';
import { MALFORMED, MAX_BODY, MISSING, textOf } from './embed.mjs';

// An Elysia that knows only `path`: what matches no route is 404, or 405 where the path is right.
export function elysia(path, allow) {
  return new Elysia({ serve: { maxRequestBodySize: MAX_BODY } }).onError((context) => {
    const { code, status, set } = context;
    if (code === 'PARSE') return status(400, { message: MALFORMED });
    if (code !== 'NOT_FOUND') return;
    if (context.path !== path) return status(404, '');
    set.headers.allow = allow;
    return status(405, '');
  });
}

// A route handler that gives the text to embed to `answer(text, context)`.
export function embed(answer) {
  return (context) => {
    const text = textOf(context.body);
    return text === undefined ? context.status(400, { message: MISSING }) : answer(text, context);
  };
}

const { HOST, PORT, TLS_KEY, TLS_CERT } = process.env;

export const listen = { hostname: HOST, port: PORT };

export const listenTls = () => ({
  ...listen,
  tls: { key: Bun.file(TLS_KEY), cert: Bun.file(TLS_CERT) },
});
