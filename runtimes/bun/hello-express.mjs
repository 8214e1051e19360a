// Express on Bun, hello.

import '../shared/hello-express.mjs';
