// Fastify on Node.js, json.

import '../shared/json-fastify.mjs';
