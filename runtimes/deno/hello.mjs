// Deno, hello: plain Deno.serve.

import { listen } from '../shared/deno.mjs';
import { hello } from '../shared/deno-hello.mjs';

Deno.serve(listen(), hello);
