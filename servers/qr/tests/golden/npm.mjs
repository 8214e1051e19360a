// Finds npm `qrcode`, at exactly the version whose pixels server-qr promises.
import { createHash } from 'node:crypto'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { resolve } from 'node:path'

const PINNED = '1.5.4'

/** Loads `qrcode` and its `pngjs` from `folder` (one that has a `node_modules`), or from `runtimes/`. */
export function loadNpmQrcode (folder) {
  const base = folder ? pathToFileURL(resolve(folder) + '/') : new URL('../../../../runtimes/', import.meta.url)
  const require = createRequire(base)
  let entry
  try {
    entry = require.resolve('qrcode')
  } catch {
    throw new Error(`no npm qrcode below ${base.pathname}: run \`npm ci --ignore-scripts\` there, or name another folder`)
  }
  const inner = createRequire(entry)
  const { version } = inner('../package.json')
  if (version !== PINNED) throw new Error(`npm qrcode is ${version} and should be ${PINNED}`)
  return { qrcode: require('qrcode'), rendererUtils: inner('./renderer/utils'), PNG: inner('pngjs').PNG }
}

/** SHA-256 of an RGBA picture as one byte a pixel, 0 dark and 255 light, rows from the top. */
export function hashPixels (rgba) {
  const gray = Buffer.alloc(rgba.length / 4)
  for (let i = 0; i < gray.length; i++) gray[i] = rgba[i * 4]
  return createHash('sha256').update(gray).digest('hex')
}
