// Bun, hello: plain Bun.serve.

import { listen, only } from '../shared/bun.mjs';

const hello = () => new Response('Hello world!');

Bun.serve({ ...listen, ...only('/', { GET: hello, HEAD: hello }) });
