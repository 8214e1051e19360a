// Fastify on Deno, json.

import '../shared/json-fastify.mjs';
