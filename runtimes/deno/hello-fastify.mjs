// Fastify on Deno, hello.

import '../shared/hello-fastify.mjs';
