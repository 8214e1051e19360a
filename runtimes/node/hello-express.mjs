// Express on Node.js, hello.

import '../shared/hello-express.mjs';
