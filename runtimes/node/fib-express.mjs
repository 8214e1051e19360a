// Express on Node.js, fib.

import { plain, start } from '../shared/fib-express.mjs';

start(plain);
