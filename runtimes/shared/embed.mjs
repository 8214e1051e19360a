// What every json and qr contender shares: limits, and the words of their errors.

export const MAX_BODY = 1024 * 1024;
export const MISSING = 'urlToEmbed parameter is missing';
export const MALFORMED = 'the body is not valid JSON';
export const TOO_LARGE = `the body is over ${MAX_BODY} bytes`;

// The text to embed, or undefined where there is none.
export function textOf(body) {
  const text = body?.urlToEmbed;
  return typeof text === 'string' && text !== '' ? text : undefined;
}
