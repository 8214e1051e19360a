// Bun, https on several cores: plain Bun.serve with reusePort.

import { listenTls, only } from '../shared/bun.mjs';
import { startOthers } from '../shared/bun-all.mjs';

const hello = () => new Response('Hello world!');

startOthers(import.meta.path);
Bun.serve({ ...listenTls(), ...only('/', { GET: hello, HEAD: hello }), reusePort: true });
