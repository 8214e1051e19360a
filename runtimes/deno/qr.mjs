// Deno, qr: plain Deno.serve.

import { embedAt, listenTls } from '../shared/deno.mjs';
import { answerWithQr } from '../shared/web-qr.mjs';

Deno.serve(listenTls(), embedAt('/qr', answerWithQr));
