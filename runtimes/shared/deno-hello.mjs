// The handler of hello and https on Deno.

import { methodNotAllowed, notFound, pathOf } from './web.mjs';

export function hello(request) {
  if (pathOf(request.url) !== '/') return notFound();
  if (request.method !== 'GET' && request.method !== 'HEAD') return methodNotAllowed('GET, HEAD');
  return new Response('Hello world!');
}
