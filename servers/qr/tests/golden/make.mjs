// Makes the golden vectors from npm qrcode 1.5.4 itself:
//
//   node servers/qr/tests/golden/make.mjs [FOLDER WITH node_modules]
//
// `vectors.jsonl` has a line `[text, version, mask, width, sha256 of the pixels]` for every text; `sample-*.png` are
// npm's own files for a few of them, `samples.json` their texts. The pixels are those of `toBuffer(text, {width: 512})`, decoded with pngjs.
import { writeFileSync } from 'node:fs'
import { hashPixels, loadNpmQrcode } from './npm.mjs'
import { goldenTexts } from './texts.mjs'

const { qrcode, PNG } = loadNpmQrcode(process.argv[2])
const SAMPLES = [1, 2, 4, 5, 6, 7, 10, 27, 34, 40]
const samples = {}
const here = name => new URL(name, import.meta.url)

const lines = []
for (const text of goldenTexts()) {
  const { version, maskPattern } = qrcode.create(text)
  const file = await qrcode.toBuffer(text, { width: 512 })
  const { width, height, data } = PNG.sync.read(file)
  if (width !== height) throw new Error(`npm drew ${width} x ${height}`)
  lines.push(JSON.stringify([text, version, maskPattern, width, hashPixels(data)]))
  const sample = `sample-v${version}.png`
  if (SAMPLES.includes(version) && !(sample in samples)) {
    samples[sample] = text
    writeFileSync(here(sample), file)
  }
}
writeFileSync(here('vectors.jsonl'), lines.join('\n') + '\n')
writeFileSync(here('samples.json'), JSON.stringify(samples, null, 2) + '\n')
console.log(`${lines.length} vectors, ${Object.keys(samples).length} samples`)
