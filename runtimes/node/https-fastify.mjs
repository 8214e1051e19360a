// Fastify on Node.js, https.

import '../shared/https-fastify.mjs';
