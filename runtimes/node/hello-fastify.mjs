// Fastify on Node.js, hello.

import { fastify, start } from '../shared/fastify.mjs';

const app = fastify('/', 'GET, HEAD');
app.get('/', (_request, reply) => reply.send('Hello world!'));
start(app);
