// Express on Deno, fib.

import '../shared/fib-express.mjs';
