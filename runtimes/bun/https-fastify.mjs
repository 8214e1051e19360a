// Fastify on Bun, https.

import '../shared/https-fastify.mjs';
