// Fastify on Node.js, json.

import { embed, fastify, start } from '../shared/fastify.mjs';
import { tls } from '../shared/node.mjs';

const app = fastify('/', 'POST', { https: tls() });
app.post('/', embed((urlToEmbed, reply) => reply.send({ urlToEmbed })));
start(app);
