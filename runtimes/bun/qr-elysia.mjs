// Elysia on Bun, qr.

import { elysia, embed, listenTls } from '../shared/elysia.mjs';
import { TOO_LONG, qr } from '../shared/qr.mjs';

elysia('/qr', 'POST').post('/qr', embed(async (text, { status }) => {
  const png = await qr(text);
  if (png === undefined) return status(413, { message: TOO_LONG });
  return new Response(png, { headers: { 'content-type': 'image/png' } });
})).listen(listenTls());
