// The handler of hello and https on Node.js.

import { isAt, methodNotAllowed, notFound } from './node.mjs';

const BODY = 'Hello world!';
const HEADERS = { 'content-type': 'text/plain', 'content-length': BODY.length };

export function hello(request, response) {
  if (!isAt('/', request.url)) return notFound(response);
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return methodNotAllowed(response, 'GET, HEAD');
  }
  response.writeHead(200, HEADERS);
  response.end(BODY);
}
