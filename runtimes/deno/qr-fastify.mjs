// Fastify on Deno, qr.

import '../shared/qr-fastify.mjs';
