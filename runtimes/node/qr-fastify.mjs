// Fastify on Node.js, qr.

import '../shared/qr-fastify.mjs';
