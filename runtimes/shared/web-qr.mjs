// The answer of qr on web-standard Response.

import { TOO_LONG, qr } from './qr.mjs';
import { message } from './web.mjs';

export async function answerWithQr(text) {
  const png = await qr(text);
  if (png === undefined) return message(413, TOO_LONG);
  return new Response(png, { headers: { 'content-type': 'image/png' } });
}
