// Express on Node.js, fib.

import '../shared/fib-express.mjs';
