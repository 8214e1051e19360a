// Pieces of the contenders on node:http and node:https.

import { readFileSync } from 'node:fs';
import { MALFORMED, MAX_BODY, MISSING, TOO_LARGE, textOf } from './embed.mjs';

export const { HOST, PORT, DATA_DIR } = process.env;

export const tls = () => ({
  key: readFileSync(process.env.TLS_KEY),
  cert: readFileSync(process.env.TLS_CERT),
});

// The path is right, or right with a query.
export function isAt(path, url) {
  return url === path || (url.startsWith(path) && url[path.length] === '?');
}

export function notFound(response) {
  response.writeHead(404, { 'content-length': 0 });
  response.end();
}

export function methodNotAllowed(response, allow) {
  response.writeHead(405, { allow, 'content-length': 0 });
  response.end();
}

export function message(response, status, text) {
  const body = JSON.stringify({ message: text });
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
}

// A handler of `POST path` that gives the text to embed to `answer(response, text)`.
export function embed(path, answer) {
  return (request, response) => {
    if (!isAt(path, request.url)) return notFound(response);
    if (request.method !== 'POST') return methodNotAllowed(response, 'POST');
    let json = '';
    request.setEncoding('utf8');
    request.on('data', (chunk) => {
      if (json.length <= MAX_BODY) json += chunk;
    });
    request.on('end', () => {
      if (json.length > MAX_BODY) return message(response, 413, TOO_LARGE);
      let body;
      try {
        body = JSON.parse(json);
      } catch {
        return message(response, 400, MALFORMED);
      }
      const text = textOf(body);
      if (text === undefined) return message(response, 400, MISSING);
      answer(response, text);
    });
  };
}
