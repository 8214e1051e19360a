// Measures the page in the frame: what overlaps, what is cut off, how small text gets.
const frame = document.querySelector('iframe');
frame.addEventListener('load', () => {
  const page = frame.contentDocument;
  for (const details of page.querySelectorAll('details')) details.open = true;
  const found = { overflow: [], overlapping: [], cut: [], smallest: 1e9, texts: 0, pictures: 0 };
  const root = page.documentElement;
  if (root.scrollWidth > root.clientWidth) {
    for (const element of page.querySelectorAll('body *')) {
      if (element.closest('.wide')) continue;
      const right = element.getBoundingClientRect().right;
      if (right > root.clientWidth + 1) found.overflow.push(`${element.tagName} to ${right}`);
    }
    if (found.overflow.length === 0) found.overflow.push(`${root.scrollWidth} px`);
  }
  const texts = [];
  const walker = page.createTreeWalker(page.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (!node.data.trim()) continue;
    const range = page.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      if (box.width > 0.5) texts.push({ box, words: node.data.trim().slice(0, 40), node });
    }
    const picture = node.parentElement.closest('svg');
    if (!picture) continue;
    const [box, frame] = [range.getBoundingClientRect(), picture.getBoundingClientRect()];
    if (box.right > frame.right + 1 || box.left < frame.left - 1 || box.bottom > frame.bottom + 1)
      found.cut.push(node.data);
    const scale = frame.width / picture.viewBox.baseVal.width;
    const size = parseFloat(page.defaultView.getComputedStyle(node.parentElement).fontSize);
    found.smallest = Math.min(found.smallest, size * scale);
  }
  found.texts = texts.length;
  found.pictures = page.querySelectorAll('figure svg').length;
  texts.sort((a, b) => a.box.top - b.box.top);
  for (let i = 0; i < texts.length; i++) {
    for (let j = i + 1; j < texts.length && texts[j].box.top < texts[i].box.bottom; j++) {
      const [a, b] = [texts[i].box, texts[j].box];
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      // Boxes are as high as the font's line; glyphs of neighbouring lines do not touch.
      if (wide > 1 && high > 0.4 * Math.min(a.height, b.height))
        found.overlapping.push(`${texts[i].words} / ${texts[j].words}`);
    }
  }
  document.getElementById('found').textContent = JSON.stringify(found);
});
