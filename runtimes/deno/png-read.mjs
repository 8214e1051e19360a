// Deno, png: one read, one write.

import { servePictures } from '../shared/deno-png.mjs';

servePictures((path) => Deno.readFile(path));
