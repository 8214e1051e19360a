// Fastify on Bun, qr.

import '../shared/qr-fastify.mjs';
