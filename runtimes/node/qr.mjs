// Node.js, qr: plain node:https.

import { createServer } from 'node:https';
import { HOST, PORT, embed, message, tls } from '../shared/node.mjs';
import { TOO_LONG, qr } from '../shared/qr.mjs';

createServer(tls(), embed('/qr', async (response, text) => {
  const png = await qr(text);
  if (png === undefined) return message(response, 413, TOO_LONG);
  response.writeHead(200, { 'content-type': 'image/png', 'content-length': png.length });
  response.end(png);
})).listen(PORT, HOST);
