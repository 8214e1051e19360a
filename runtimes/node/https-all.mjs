// Node.js, https on several cores: plain node:https, by node:cluster.

import { createServer } from 'node:https';
import { HOST, PORT, tls } from '../shared/node.mjs';
import { onEachWorker } from '../shared/node-all.mjs';
import { hello } from '../shared/node-hello.mjs';

onEachWorker(() => createServer(tls(), hello).listen(PORT, HOST));
