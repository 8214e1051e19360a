// Elysia on Bun, hello.

import { elysia, listen } from '../shared/elysia.mjs';

elysia('/', 'GET, HEAD').get('/', () => 'Hello world!').listen(listen);
