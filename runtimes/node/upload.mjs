// Node.js, upload: a sink that counts what it read.

import { createServer } from 'node:http';
import { HOST, PORT, isAt, methodNotAllowed, notFound } from '../shared/node.mjs';

let requests = 0;
let bytes = 0;

createServer((request, response) => {
  if (isAt('/', request.url)) {
    if (request.method !== 'POST') return methodNotAllowed(response, 'POST');
    let length = 0;
    request.on('data', (chunk) => {
      length += chunk.length;
    });
    request.on('end', () => {
      requests += 1;
      bytes += length;
      response.writeHead(204);
      response.end();
    });
  } else if (isAt('/stats', request.url)) {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return methodNotAllowed(response, 'GET, HEAD');
    }
    const body = JSON.stringify({ requests, bytes });
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
    response.end(body);
  } else {
    notFound(response);
  }
}).listen(PORT, HOST);
