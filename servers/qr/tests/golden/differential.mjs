// Compares server-qr with npm qrcode 1.5.4 on random texts of every kind; not part of the tests, npm is too slow.
//
//   cargo build -p server-qr --example pixels
//   node servers/qr/tests/golden/differential.mjs [COUNT [SEED [FOLDER WITH node_modules]]]
//
// Ends with 0 if version, mask and every pixel agree. Where npm draws 511 x 511 (versions 6 and 34), the row and the
// column it lacks must be light.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { hashPixels, loadNpmQrcode } from './npm.mjs'
import { Random, anyText } from './texts.mjs'

const count = Number(process.argv[2] ?? 1000)
const seed = Number(process.argv[3] ?? Date.now() % 1e9)
const { qrcode, rendererUtils } = loadNpmQrcode(process.argv[4])
const binary = process.env.PIXELS ??
  fileURLToPath(new URL('../../../../target/debug/examples/pixels', import.meta.url))

/** `[version, mask, hash]` as npm draws it, or null where it refuses. */
function npm (text) {
  let code
  try {
    code = qrcode.create(text)
  } catch (error) {
    if (/too big/.test(error.message)) return null
    throw error
  }
  const options = rendererUtils.getOptions({ width: 512 })
  const width = rendererUtils.getImageWidth(code.modules.size, options)
  const drawn = new Uint8Array(width * width * 4)
  rendererUtils.qrToImageData(drawn, code, options)
  const whole = new Uint8Array(512 * 512 * 4).fill(255)
  for (let y = 0; y < width; y++) whole.set(drawn.subarray(y * width * 4, (y + 1) * width * 4), y * 512 * 4)
  return [code.version, code.maskPattern, hashPixels(whole)]
}

const child = spawn(binary, { stdio: ['pipe', 'pipe', 'inherit'] })
const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
const random = new Random(seed)
const seen = { versions: new Set(), masks: new Set(), refused: 0 }
let different = 0
for (let i = 0; i < count; i++) {
  const text = anyText(random)
  child.stdin.write(JSON.stringify(text) + '\n')
  const { value, done } = await answers.next()
  if (done) throw new Error(`${binary} ended early`)
  const theirs = npm(text)
  if (value !== JSON.stringify(theirs)) {
    different++
    if (different <= 10) console.log(`${JSON.stringify(text)}\n  npm  ${JSON.stringify(theirs)}\n  ours ${value}`)
  }
  if (theirs) {
    seen.versions.add(theirs[0])
    seen.masks.add(theirs[1])
  } else seen.refused++
}
child.stdin.end()
await once(child, 'exit')
console.log(`seed ${seed}: ${count} texts, ${different} different; ${seen.versions.size} versions, ` +
  `${seen.masks.size} masks, ${seen.refused} refused by both`)
process.exitCode = different ? 1 : 0
