// Node.js, upload client: `fetch` with a stream of the file. Deno and Bun can run this file too.

import { createReadStream } from 'node:fs';
import { measure } from '../shared/upload-client.mjs';

const headers = { 'content-type': 'text/plain' };

await measure((url, path) =>
  fetch(url, { method: 'POST', headers, body: createReadStream(path), duplex: 'half' }),
);
