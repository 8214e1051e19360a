// Deno, https: plain Deno.serve.

import { listenTls } from '../shared/deno.mjs';
import { hello } from '../shared/deno-hello.mjs';

Deno.serve(listenTls(), hello);
