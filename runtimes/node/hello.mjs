// Node.js, hello: plain node:http.

import { createServer } from 'node:http';
import { HOST, PORT } from '../shared/node.mjs';
import { hello } from '../shared/node-hello.mjs';

createServer(hello).listen(PORT, HOST);
