// Deno, json: plain Deno.serve.

import { embedAt, listenTls } from '../shared/deno.mjs';

Deno.serve(listenTls(), embedAt('/', (urlToEmbed) => Response.json({ urlToEmbed })));
