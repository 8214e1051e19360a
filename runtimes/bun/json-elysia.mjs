// Elysia on Bun, json.

import { elysia, embed, listenTls } from '../shared/elysia.mjs';

elysia('/', 'POST').post('/', embed((urlToEmbed) => ({ urlToEmbed }))).listen(listenTls());
