// A server of the pictures of DATA_DIR on Node.js; how a file is sent is the contender's choice.

import { createServer } from 'node:http';
import { DATA_DIR, HOST, PORT, methodNotAllowed, notFound } from './node.mjs';

export function servePictures(send) {
  createServer((request, response) => {
    const path = request.url.split('?', 1)[0];
    if (!path.endsWith('.png') || path.includes('..')) return notFound(response);
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return methodNotAllowed(response, 'GET, HEAD');
    }
    send(response, DATA_DIR + path);
  }).listen(PORT, HOST);
}
