// Fastify on Bun, hello.

import '../shared/hello-fastify.mjs';
