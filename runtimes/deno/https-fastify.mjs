// Fastify on Deno, https.

import '../shared/https-fastify.mjs';
