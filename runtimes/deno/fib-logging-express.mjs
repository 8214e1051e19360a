// Express on Deno, fib with a line printed in every base case.

import { logging, start } from '../shared/fib-express.mjs';

start(logging);
