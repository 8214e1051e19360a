// Fastify, json: the same code on every runtime.

import { embed, fastify, start } from './fastify.mjs';
import { tls } from './node.mjs';

const app = fastify('/', 'POST', { https: tls() });
// A schema of the answer is Fastify's way to fast JSON.
const schema = {
  response: { 200: { type: 'object', properties: { urlToEmbed: { type: 'string' } } } },
};
app.post('/', { schema }, embed((urlToEmbed, reply) => reply.send({ urlToEmbed })));
start(app);
