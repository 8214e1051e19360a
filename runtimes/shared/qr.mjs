// The QR code of a text, by npm qrcode, with the options of the article.

import qrcode from 'qrcode';

// More characters than the densest mode (digits) fits at level M: no need to try.
const MAX_CHARACTERS = 5596;

export const TOO_LONG = 'urlToEmbed does not fit a QR code of level M (at most 2331 bytes)';

// A promise of the PNG as Buffer, or undefined where the text is too long.
export function qr(text) {
  if (text.length > MAX_CHARACTERS) return undefined;
  return qrcode.toBuffer(text, { width: 512 }).catch(tooLong);
}

function tooLong(error) {
  if (error.message.includes('too big')) return undefined;
  throw error;
}
