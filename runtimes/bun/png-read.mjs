// Bun, png: one read, one write.

import { servePictures } from '../shared/bun-png.mjs';

const HEADERS = { headers: { 'content-type': 'image/png' } };

servePictures(async (file) => new Response(await file.bytes(), HEADERS));
