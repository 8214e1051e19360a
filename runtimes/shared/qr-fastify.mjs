// Fastify, qr: the same code on every runtime.

import { embed, fastify, start } from './fastify.mjs';
import { tls } from './node.mjs';
import { TOO_LONG, qr } from './qr.mjs';

const app = fastify('/qr', 'POST', { https: tls() });
app.post('/qr', embed(async (text, reply) => {
  const png = await qr(text);
  if (png === undefined) return reply.code(413).send({ message: TOO_LONG });
  return reply.type('image/png').send(png);
}));
start(app);
