// Express on Bun, fib.

import { plain, start } from '../shared/fib-express.mjs';

start(plain);
