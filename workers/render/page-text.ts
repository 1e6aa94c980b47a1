import type { PageText } from './protocol.ts';

/**
 * Limits on the pieces of text and characters of a page. A larger page is not read, so that reading takes milliseconds
 * at most.
 */
const MAX_PIECES = 2_000;
const MAX_CHARACTERS = 50_000;

/**
 * A JavaScript expression that reads what the document's text needs of fonts: `characters` beyond ASCII, each once, and
 * `families`, each list as the style has it. Text in a font that the document itself loads (`@font-face`) is left out.
 * If that font did not load, its families are included, but not its characters. Invisible text, generated content and
 * the values of fields are not read.
 */
export const READ_TEXT_EXPRESSION = `(() => {
  const plain = (family) => family.trim().replace(/^["']|["']$/g, '').toLowerCase();
  const own = new Set();
  for (const face of document.fonts) if (face.status !== 'error') own.add(plain(face.family));
  const characters = new Set();
  const families = new Set();
  const read = new Map();
  const look = (element) => {
    if (!element.checkVisibility({ visibilityProperty: true })) return { isVisible: false };
    const list = getComputedStyle(element).fontFamily;
    const names = (list.match(/"[^"]*"|[^,]+/g) ?? []).map(plain);
    if (!own.has(names[0])) families.add(list);
    return { isVisible: true, isOwn: names.some((name) => own.has(name)) };
  };
  const walker = document.createTreeWalker(document, NodeFilter.SHOW_TEXT);
  let left = ${MAX_CHARACTERS};
  for (let pieces = 0; pieces < ${MAX_PIECES} && left > 0 && walker.nextNode(); pieces += 1) {
    const { data, parentElement: element } = walker.currentNode;
    if (element === null || !/\\S/.test(data)) continue;
    if (!read.has(element)) read.set(element, look(element));
    const { isVisible, isOwn } = read.get(element);
    if (!isVisible || isOwn || !/[^\\x00-\\x7f]/.test(data)) continue;
    const part = data.slice(0, left);
    left -= part.length;
    for (const character of part) if (character > '\\x7f') characters.add(character);
  }
  return { characters: [...characters].join(''), families: [...families] };
})()`;

/** Joins the texts of several documents. */
export function joinPageTexts(texts: readonly PageText[]): PageText {
  return {
    characters: texts.map(({ characters }) => characters).join(''),
    families: [...new Set(texts.flatMap(({ families }) => families))],
  };
}
