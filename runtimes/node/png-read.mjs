// Node.js, png: one read, one write.

import { readFile } from 'node:fs';
import { notFound } from '../shared/node.mjs';
import { servePictures } from '../shared/node-png.mjs';

servePictures((response, path) => {
  readFile(path, (error, bytes) => {
    if (error) return notFound(response);
    response.writeHead(200, { 'content-type': 'image/png', 'content-length': bytes.length });
    response.end(bytes);
  });
});
