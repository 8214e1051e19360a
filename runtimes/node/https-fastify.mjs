// Fastify on Node.js, https.

import { fastify, start } from '../shared/fastify.mjs';
import { tls } from '../shared/node.mjs';

const app = fastify('/', 'GET, HEAD', { https: tls() });
app.get('/', (_request, reply) => reply.send('Hello world!'));
start(app);
