// Deno, hello on several cores: for `deno serve --parallel`, which gives address and port.

import { hello } from '../shared/deno-hello.mjs';

export default { fetch: hello };
