// Bun, upload: a sink that counts what it read.

import { listen } from '../shared/bun.mjs';
import { methodNotAllowed, notFound, pathOf } from '../shared/web.mjs';

let requests = 0;
let bytes = 0;

async function upload(request) {
  let length = 0;
  try {
    for await (const chunk of request.body ?? []) length += chunk.length;
  } catch {
    return new Response(null, { status: 400 });
  }
  requests += 1;
  bytes += length;
  return new Response(null, { status: 204 });
}

const stats = () => Response.json({ requests, bytes });

Bun.serve({
  ...listen,
  maxRequestBodySize: Number.MAX_SAFE_INTEGER,
  routes: { '/': { POST: upload }, '/stats': { GET: stats, HEAD: stats } },
  fetch({ url }) {
    const allow = { '/': 'POST', '/stats': 'GET, HEAD' }[pathOf(url)];
    return allow ? methodNotAllowed(allow) : notFound();
  },
});
