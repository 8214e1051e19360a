// Deno, upload: a sink that counts what it read.

import { listen } from '../shared/deno.mjs';
import { methodNotAllowed, notFound, pathOf } from '../shared/web.mjs';

let requests = 0;
let bytes = 0;

Deno.serve(listen(), async (request) => {
  const { method } = request;
  const path = pathOf(request.url);
  if (path === '/') {
    if (method !== 'POST') return methodNotAllowed('POST');
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
  if (path !== '/stats') return notFound();
  if (method !== 'GET' && method !== 'HEAD') return methodNotAllowed('GET, HEAD');
  return Response.json({ requests, bytes });
});
