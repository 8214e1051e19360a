// Bun, qr: plain Bun.serve.

import { embedAt, listenTls } from '../shared/bun.mjs';
import { answerWithQr } from '../shared/web-qr.mjs';

Bun.serve({ ...listenTls(), ...embedAt('/qr', answerWithQr) });
