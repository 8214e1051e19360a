// Fastify on Bun, json.

import '../shared/json-fastify.mjs';
