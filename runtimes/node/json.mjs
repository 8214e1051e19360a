// Node.js, json: plain node:https.

import { createServer } from 'node:https';
import { HOST, PORT, embed, tls } from '../shared/node.mjs';

createServer(tls(), embed('/', (response, urlToEmbed) => {
  const body = JSON.stringify({ urlToEmbed });
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
})).listen(PORT, HOST);
