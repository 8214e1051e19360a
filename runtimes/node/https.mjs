// Node.js, https: plain node:https.

import { createServer } from 'node:https';
import { HOST, PORT, tls } from '../shared/node.mjs';
import { hello } from '../shared/node-hello.mjs';

createServer(tls(), hello).listen(PORT, HOST);
