// Texts to draw, of every kind that takes another way through the encoder. The same seed gives the same texts.

/** mulberry32: a small seeded generator; `int(n)` is in 0..n. */
export class Random {
  constructor (seed) { this.state = seed >>> 0 }

  next () {
    this.state = (this.state + 0x6D2B79F5) >>> 0
    let t = this.state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }

  int (n) { return Math.floor(this.next() * n) }
  pick (list) { return list[this.int(list.length)] }
  chars (alphabet, length) {
    let s = ''
    for (let i = 0; i < length; i++) s += this.pick(alphabet)
    return s
  }
}

const DIGITS = [...'0123456789']
const ALPHA = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:']
const ALNUM = [...DIGITS, ...ALPHA]
const LOWER = [...'abcdefghijklmnopqrstuvwxyz']
const BYTES = [...LOWER, ..."!\"#&'(),;<=>?@[\\]^_`{|}~\n\r\t\0\x7f"]
const WIDE = [...'äßéñçøłžЖдяכעمثहि中文漢字かなカナ한글€→★「」“”…§°']
const EMOJI = ['😀', '🚀', '👩‍💻', '🇩🇪', '𝄞', '🧑🏽‍🚒', '✅']
const HOSTS = ['example.com', 'www.example.org', 'shop.example.net', 'github.com', 'EXAMPLE.COM', 'a.io', 'xn--bcher-kva.example', '10.0.0.1:8080']

const kinds = {
  url (r) {
    let s = r.pick(['https://', 'http://', 'HTTPS://', 'https://']) + r.pick(HOSTS)
    for (let i = r.int(4); i > 0; i--) s += '/' + r.chars(r.pick([LOWER, DIGITS, ALNUM, LOWER]), 1 + r.int(14))
    if (r.int(2)) s += '?' + r.chars(LOWER, 1 + r.int(5)) + '=' + r.chars(r.pick([DIGITS, ALNUM, LOWER]), 1 + r.int(24))
    if (r.int(3) === 0) s += '&id=' + r.int(1e9)
    if (r.int(5) === 0) s += '#' + r.chars(LOWER, r.int(9))
    return s
  },
  url65 (r) {
    const s = 'https://www.example.com/products/' + r.int(1e8) + '?ref=' + r.chars([...LOWER, ...DIGITS], 24)
    return s.slice(0, 65)
  },
  percentUrl (r) {
    let s = 'https://' + r.pick(HOSTS) + '/'
    for (let i = 1 + r.int(20); i > 0; i--) s += r.int(2) ? '%' + r.chars([...'0123456789ABCDEF'], 2) : r.pick(LOWER)
    return s
  },
  uuid (r) {
    const hex = [...r.pick(['0123456789abcdef', '0123456789ABCDEF'])]
    return [8, 4, 4, 4, 12].map(n => r.chars(hex, n)).join('-')
  },
  id (r) { return r.pick(['', 'ORD-', 'inv_', 'SKU:', '#']) + r.chars(r.pick([DIGITS, ALNUM]), 1 + r.int(20)) },
  numeric (r) { return r.chars(DIGITS, 1 + r.int(r.pick([12, 60, 300]))) },
  alphanumeric (r) { return r.chars(ALNUM, 1 + r.int(r.pick([12, 60, 300]))) },
  letters (r) { return r.chars(ALPHA, 1 + r.int(60)) },
  bytes (r) { return r.chars(BYTES, 1 + r.int(r.pick([12, 60, 200]))) },
  // Runs of each class, of the lengths around which switching modes begins to pay.
  mixed (r) {
    let s = ''
    const most = r.pick([4, 9, 20])
    for (let i = 1 + r.int(r.pick([4, 12, 40])); i > 0; i--) s += r.chars(r.pick([DIGITS, ALPHA, BYTES, ALNUM]), 1 + r.int(most))
    return s
  },
  digitsAndLetters (r) {
    let s = ''
    for (let i = 1 + r.int(30); i > 0; i--) s += r.chars(r.pick([DIGITS, ALPHA]), 1 + r.int(16))
    return s
  },
  longRuns (r) {
    let s = ''
    for (let i = 1 + r.int(8); i > 0; i--) s += r.chars(r.pick([DIGITS, ALPHA, LOWER]), 1 + r.int(120))
    return s
  },
  utf8 (r) { return r.chars([...WIDE, ...EMOJI], 1 + r.int(60)) },
  utf8Mixed (r) { return r.chars([...WIDE, ...EMOJI, ...ALNUM, ...LOWER, ...DIGITS, ...DIGITS], 1 + r.int(150)) },
  json (r) { return JSON.stringify({ id: r.int(1e9), name: r.chars(LOWER, r.int(20)), tags: [r.chars(ALNUM, 4), r.chars(DIGITS, 8)] }) },
  vcard (r) { return `BEGIN:VCARD\r\nVERSION:3.0\r\nN:${r.chars(LOWER, 8)}\r\nTEL:+${r.chars(DIGITS, 11)}\r\nEND:VCARD` },
  wifi (r) { return `WIFI:T:WPA;S:${r.chars([...ALNUM, ...LOWER], 10)};P:${r.chars([...ALNUM, ...BYTES], 12)};;` },
  repeated (r) { return r.pick(['a', '0', 'A', '\0', ' ', 'é', '😀', '00A', 'a0']).repeat(1 + r.int(120)) }
}

export const KINDS = Object.keys(kinds)

/** One text of a kind. */
export function textOf (kind, random) { return kinds[kind](random) }

/** A text of any kind, any version; long ones are rare because npm takes long over them. */
export function anyText (random) {
  const text = textOf(random.pick(KINDS), random)
  if (random.int(25)) return text
  return longText(random, 1 + random.int(random.pick([2200, 3600])))
}

/** About `length` bytes of runs of every class. */
export function longText (random, length) {
  const alphabets = random.pick([[LOWER], [DIGITS, ALPHA], [DIGITS, ALPHA, BYTES], [DIGITS, LOWER], [ALNUM]])
  const most = random.pick([3, 12, 40, 200])
  let s = ''
  while (s.length < length) s += random.chars(random.pick(alphabets), 1 + random.int(most))
  return s.slice(0, length)
}

/** Most data bits / 8 that fit each version at level M, as bytes in byte mode (ISO/IEC 18004 table 7). */
export const BYTE_CAPACITY_M = [
  14, 26, 42, 62, 84, 106, 122, 152, 180, 213, 251, 287, 331, 362, 412, 450, 504, 560, 624, 666,
  711, 779, 857, 911, 997, 1059, 1125, 1190, 1264, 1370, 1452, 1538, 1628, 1722, 1809, 1911, 1989, 2099, 2213, 2331
]

/** The committed set: every kind, every version, every limit. */
export function goldenTexts () {
  const random = new Random(20260101)
  const texts = [
    '200505150001', '0001', 'HELLO WORLD', '0', 'A', 'a', ' ', '\0', '\n', 'é', '€', '😀', '-0', '00', '000', 'AC-42',
    'https://example.com/', 'HTTPS://EXAMPLE.COM/', 'https://example.com/?q=%20%2F', 'a%20b', '+', 'null', '{}', '\u2028',
    'A1b2C3d4', '0123456789', '01234567890123456789A', 'A01234567890123456789', 'a0123456789a', 'aABCDEFa', 'ABCDEF0123456789abcdef'
  ]
  for (const kind of KINDS) {
    const count = { url: 330, url65: 150, mixed: 180, utf8Mixed: 60, digitsAndLetters: 80, alphanumeric: 60, numeric: 60 }[kind] ?? 30
    for (let i = 0; i < count; i++) texts.push(textOf(kind, random))
  }
  // Each version filled to its last byte, and one byte into the next.
  for (const bytes of BYTE_CAPACITY_M) {
    texts.push(random.chars(LOWER, bytes))
    if (bytes < 2331) texts.push(random.chars(LOWER, bytes + 1))
  }
  // Each version in the two other modes, around their capacity.
  BYTE_CAPACITY_M.forEach((bytes, i) => {
    const bits = bytes * 8 + (i < 9 ? 12 : 20)
    const digits = Math.floor((bits - 4 - (i < 9 ? 10 : i < 26 ? 12 : 14)) / 10 * 3)
    const alnum = Math.floor((bits - 4 - (i < 9 ? 9 : i < 26 ? 11 : 13)) / 11 * 2)
    texts.push(random.chars(DIGITS, digits), random.chars(ALNUM, alnum))
    if (i % 4 === 0) texts.push(longText(random, bytes))
  })
  for (let length = 180; length <= 230; length++) texts.push(random.chars([...LOWER, ...DIGITS, ...ALPHA], length))
  for (let i = 0; i < 24; i++) texts.push(longText(random, 60 + random.int(1200)))
  return [...new Set(texts)]
}
