// A server of the pictures of DATA_DIR on Bun; how a file is sent is the contender's choice.

import { listen } from './bun.mjs';
import { methodNotAllowed, notFound, pathOf } from './web.mjs';

const { DATA_DIR } = process.env;

// `send(file)` gives the response or a promise of it.
export function servePictures(send) {
  Bun.serve({
    ...listen,
    fetch({ method, url }) {
      const path = pathOf(url);
      if (!path.endsWith('.png') || path.includes('..')) return notFound();
      if (method !== 'GET' && method !== 'HEAD') return methodNotAllowed('GET, HEAD');
      return send(Bun.file(DATA_DIR + path));
    },
    // A file that cannot be opened is seen only here.
    error: notFound,
  });
}
