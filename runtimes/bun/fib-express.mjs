// Express on Bun, fib.

import '../shared/fib-express.mjs';
