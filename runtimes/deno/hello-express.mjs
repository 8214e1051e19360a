// Express on Deno, hello.

import '../shared/hello-express.mjs';
