// Bun, json: plain Bun.serve.

import { embedAt, listenTls } from '../shared/bun.mjs';

Bun.serve({ ...listenTls(), ...embedAt('/', (urlToEmbed) => Response.json({ urlToEmbed })) });
