// Fastify on Node.js, hello.

import '../shared/hello-fastify.mjs';
