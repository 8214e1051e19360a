// Fastify, hello: the same code on every runtime.

import { fastify, start } from './fastify.mjs';

const app = fastify('/', 'GET, HEAD');
app.get('/', (_request, reply) => reply.send('Hello world!'));
start(app);
