// Express on Deno, fib.

import { plain, start } from '../shared/fib-express.mjs';

start(plain);
