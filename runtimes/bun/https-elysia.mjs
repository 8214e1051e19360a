// Elysia on Bun, https.

import { elysia, listenTls } from '../shared/elysia.mjs';

elysia('/', 'GET, HEAD').get('/', () => 'Hello world!').listen(listenTls());
