// Bun, https: plain Bun.serve.

import { listenTls, only } from '../shared/bun.mjs';

const hello = () => new Response('Hello world!');

Bun.serve({ ...listenTls(), ...only('/', { GET: hello, HEAD: hello }) });
