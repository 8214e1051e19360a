// Node.js, png: the file is streamed, as in the article.

import { createReadStream } from 'node:fs';
import { notFound } from '../shared/node.mjs';
import { servePictures } from '../shared/node-png.mjs';

servePictures((response, path) => {
  const file = createReadStream(path);
  // The head is sent with the first chunk, so a file that cannot be read can still be 404.
  file.on('error', () => (response.headersSent ? response.destroy() : notFound(response)));
  response.on('close', () => file.destroy());
  response.setHeader('content-type', 'image/png');
  file.pipe(response);
});
