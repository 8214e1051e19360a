// Deno, png: the file is streamed, as in the article.

import { servePictures } from '../shared/deno-png.mjs';

servePictures(async (path) => (await Deno.open(path)).readable);
