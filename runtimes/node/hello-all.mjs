// Node.js, hello on several cores: plain node:http, by node:cluster.

import { createServer } from 'node:http';
import { HOST, PORT } from '../shared/node.mjs';
import { onEachWorker } from '../shared/node-all.mjs';
import { hello } from '../shared/node-hello.mjs';

onEachWorker(() => createServer(hello).listen(PORT, HOST));
