// A server of the pictures of DATA_DIR on Deno; how a file is sent is the contender's choice.

import { listen } from './deno.mjs';
import { methodNotAllowed, notFound, pathOf } from './web.mjs';

const HEADERS = { headers: { 'content-type': 'image/png' } };

// `read(path)` promises the body of the response.
export function servePictures(read) {
  const folder = Deno.env.get('DATA_DIR');
  Deno.serve(listen(), async (request) => {
    const path = pathOf(request.url);
    if (!path.endsWith('.png') || path.includes('..')) return notFound();
    if (request.method !== 'GET' && request.method !== 'HEAD') return methodNotAllowed('GET, HEAD');
    try {
      return new Response(await read(folder + path), HEADERS);
    } catch {
      return notFound();
    }
  });
}
