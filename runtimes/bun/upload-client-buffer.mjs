// Bun, upload client: `fetch` with the whole file in memory.

import { measure } from '../shared/upload-client.mjs';

const headers = { 'content-type': 'text/plain' };

await measure(async (url, path) =>
  fetch(url, { method: 'POST', headers, body: await Bun.file(path).arrayBuffer() }),
);
