// Node.js, upload client: `fetch` with a Blob of the file, which is read as it is sent.

import { openAsBlob } from 'node:fs';
import { measure } from '../shared/upload-client.mjs';

const headers = { 'content-type': 'text/plain' };

await measure(async (url, path) =>
  fetch(url, { method: 'POST', headers, body: await openAsBlob(path) }),
);
