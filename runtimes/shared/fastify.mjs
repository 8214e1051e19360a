// Pieces of the Fastify contenders.

import Fastify from 'fastify';
import { MISSING, textOf } from './embed.mjs';

// A Fastify that knows only `path`: what matches no route is 404, or 405 where the path is right.
export function fastify(path, allow, options) {
  const app = Fastify({ logger: false, ...options });
  app.setNotFoundHandler((request, reply) => {
    if (request.url.split('?', 1)[0] !== path) return reply.code(404).send();
    return reply.code(405).header('allow', allow).send();
  });
  return app;
}

// A route handler that gives the text to embed to `answer(text, reply)`.
export function embed(answer) {
  return (request, reply) => {
    const text = textOf(request.body);
    return text === undefined ? reply.code(400).send({ message: MISSING }) : answer(text, reply);
  };
}

export const start = (app) => app.listen({ host: process.env.HOST, port: process.env.PORT });
