// Deno, upload client: `fetch` with the file's readable stream.

import { measure } from '../shared/upload-client.mjs';

const headers = { 'content-type': 'text/plain' };

await measure(async (url, path) => {
  const file = await Deno.open(path);
  return fetch(url, { method: 'POST', headers, body: file.readable });
});
