// Bun, png: the file as body, as in the article.

import { servePictures } from '../shared/bun-png.mjs';

servePictures((file) => new Response(file));
