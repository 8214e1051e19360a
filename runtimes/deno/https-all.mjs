// Deno, https on several cores: as many threads as WORKERS says, each with a Deno.serve on the same
// port (`deno serve --parallel` speaks no TLS).

import { listenTls } from '../shared/deno.mjs';
import { hello } from '../shared/deno-hello.mjs';

const OTHER = 'other';

if (self.name !== OTHER) {
  for (let other = 1; other < Number(Deno.env.get('WORKERS')); other++) {
    new Worker(import.meta.url, { type: 'module', name: OTHER });
  }
}
Deno.serve({ ...listenTls(), reusePort: true }, hello);
