// Bun, upload client: `fetch` with the file itself, which Bun reads as it sends it.

import { measure } from '../shared/upload-client.mjs';

const headers = { 'content-type': 'text/plain' };

await measure((url, path) => fetch(url, { method: 'POST', headers, body: Bun.file(path) }));
