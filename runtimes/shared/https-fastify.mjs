// Fastify, https: the same code on every runtime.

import { fastify, start } from './fastify.mjs';
import { tls } from './node.mjs';

const app = fastify('/', 'GET, HEAD', { https: tls() });
app.get('/', (_request, reply) => reply.send('Hello world!'));
start(app);
