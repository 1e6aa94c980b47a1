/*
 * JavaScript that Chromium runs in a loaded document for its fonts and its text. Scripts of the document itself
 * never run.
 */

/** JavaScript of a function that returns the names in a font family list, in a form in which they can be compared. */
const FAMILY_NAMES_FUNCTION = `
  const familyNames = (list) => (list.match(/"[^"]*"|[^,]+/g) ?? [])
    .map((name) => name.trim().replace(/^["']|["']$/g, '').toLowerCase());`;

/**
 * JavaScript that loads the fonts that the document declares (`@font-face`) and then shapes the text in them again.
 * Chromium caches the glyphs of short texts by their style and installed fonts. It would therefore draw the glyphs that
 * it chose before a face had loaded, or for an earlier page. The glyphs of text with a word spacing are not cached, so
 * such text gets a word spacing that is too small to be seen. A face that does not load counts as absent. A document
 * that declares no face is not touched.
 */
export const SHAPE_DECLARED_FONTS = `${FAMILY_NAMES_FUNCTION}
  const faces = [...document.fonts];
  const declared = new Set(faces.flatMap((face) => familyNames(face.family)));
  const shaped = declared.size === 0 ? [] : [...document.querySelectorAll('*')].flatMap((element) => {
    const { fontFamily, wordSpacing } = getComputedStyle(element);
    return familyNames(fontFamily).some((name) => declared.has(name)) ? [{ element, wordSpacing }] : [];
  });
  if (shaped.length > 0) {
    await Promise.allSettled(faces.map((face) => face.load()));
    for (const { element, wordSpacing } of shaped)
      element.style?.setProperty('word-spacing', 'calc(' + wordSpacing + ' + 0.0001px)', 'important');
    await document.fonts.ready;
  }`;

/**
 * Limits on the pieces of text and characters of a page. A larger page is not read, so that reading takes milliseconds
 * at most.
 */
const MAX_TEXT_PIECES = 2_000;
const MAX_TEXT_CHARACTERS = 50_000;
/** The largest number of pieces of cut text that are reported, and the length to which each is shortened. */
const MAX_CUT_TEXTS = 5;
const MAX_CUT_TEXT_CHARACTERS = 30;

/**
 * The last character of Latin Extended-B. The sans-serif font that comes with the service has every letter up to it.
 */
const LAST_ALWAYS_COVERED_CHARACTER = '\\u024f';

/** A character that no font has, because Unicode keeps it out of every text. */
const NONCHARACTER = '\\u{10fffe}';

/**
 * The share of its height by which a line of text may extend beyond an edge before it counts as cut off. The box of a
 * line is taller than its letters, and lines of little height overlap the edges of their boxes although every letter is
 * visible.
 */
const MAX_OVERHANG = 0.25;

/**
 * The source of a JavaScript function. The function returns whether a part of a text node is cut off, by a box around
 * the text or by the edge of the picture. A box cuts off text by its `overflow`, also if the text ends in an ellipsis.
 * A box cuts off only text that it contains: absolutely positioned text may be inside an element, but outside its box.
 */
const CUT_TEXT_FUNCTION = `
  const picture = { left: 0, top: 0, right: innerWidth, bottom: innerHeight };
  const windows = new Map([[document.documentElement, picture], [document.body, picture]]);
  const windowOf = (element) => {
    if (element === null) return picture;
    const known = windows.get(element);
    if (known !== undefined) return known;
    const { position, display, overflowX, overflowY } = getComputedStyle(element);
    const container = position === 'fixed' ? null : position === 'absolute' ? element.offsetParent : element.parentElement;
    let shown = windowOf(container);
    if (display !== 'inline' && (overflowX !== 'visible' || overflowY !== 'visible')) {
      const { left, top } = element.getBoundingClientRect();
      const [x, y] = [left + element.clientLeft, top + element.clientTop];
      shown = {
        left: overflowX === 'visible' ? shown.left : Math.max(shown.left, x),
        right: overflowX === 'visible' ? shown.right : Math.min(shown.right, x + element.clientWidth),
        top: overflowY === 'visible' ? shown.top : Math.max(shown.top, y),
        bottom: overflowY === 'visible' ? shown.bottom : Math.min(shown.bottom, y + element.clientHeight),
      };
    }
    windows.set(element, shown);
    return shown;
  };
  const range = document.createRange();
  const isCut = (text) => {
    const shown = windowOf(text.parentElement);
    range.selectNodeContents(text);
    return [...range.getClientRects()].some(({ left, top, right, bottom, height }) => {
      const overhang = Math.max(shown.left - left, shown.top - top, right - shown.right, bottom - shown.bottom);
      return right > left && overhang > ${MAX_OVERHANG} * height;
    });
  };`;

/**
 * A JavaScript expression that reads which fonts the text of the document needs. `characters` has each character beyond
 * ASCII once, and `families` has each font family list of the styles. Text in a font that the document itself loads
 * (`@font-face`) adds only the characters that are drawn as missing ones: they have the measurements of a character
 * that no font has. Such a font is in `families` only if it did not load. `cut` has the beginnings of text that cannot
 * be seen whole. Invisible text, generated content and the values of form fields are not read.
 */
export const READ_PAGE_TEXT = `(() => {${FAMILY_NAMES_FUNCTION}${CUT_TEXT_FUNCTION}
  const loadable = [...document.fonts].filter((face) => face.status !== 'error');
  const own = new Set(loadable.flatMap((face) => familyNames(face.family)));
  const characters = new Set();
  const charactersByOwnFont = new Map();
  const families = new Set();
  const cut = new Set();
  const read = new Map();
  // Chromium caches measurements by font size, so each page uses another size. A missing character is drawn in the
  // first font of the list.
  const size = 100 + Math.floor(Math.random() * 500_000) / 100 + 'px sans-serif, ';
  const look = (element) => {
    if (!element.checkVisibility({ visibilityProperty: true })) return null;
    const { fontFamily: list, fontStyle, fontWeight } = getComputedStyle(element);
    const names = familyNames(list);
    if (!own.has(names[0])) families.add(list);
    if (!names.some((name) => own.has(name))) return { found: characters, after: '\\x7f' };
    const font = [fontStyle, fontWeight, size + list].join(' ');
    const found = charactersByOwnFont.get(font) ?? new Set();
    charactersByOwnFont.set(font, found);
    return { found, after: '${LAST_ALWAYS_COVERED_CHARACTER}' };
  };
  const walker = document.createTreeWalker(document, NodeFilter.SHOW_TEXT);
  let left = ${MAX_TEXT_CHARACTERS};
  for (let pieces = 0; pieces < ${MAX_TEXT_PIECES} && left > 0 && walker.nextNode(); pieces += 1) {
    const { data, parentElement: element } = walker.currentNode;
    if (element === null || !/\\S/.test(data)) continue;
    if (!read.has(element)) read.set(element, look(element));
    const looked = read.get(element);
    if (looked !== null && cut.size < ${MAX_CUT_TEXTS} && isCut(walker.currentNode))
      cut.add(data.trim().replace(/\\s+/g, ' ').slice(0, ${MAX_CUT_TEXT_CHARACTERS}));
    if (looked === null || !/[^\\x00-\\x7f]/.test(data)) continue;
    const part = data.slice(0, left);
    left -= part.length;
    for (const character of part) if (character > looked.after) looked.found.add(character);
  }
  for (const [font, found] of charactersByOwnFont) {
    if (found.size === 0) continue;
    const drawing = document.createElement('canvas').getContext('2d');
    drawing.font = font;
    const measure = (text) => {
      const metrics = drawing.measureText(text);
      const { actualBoundingBoxAscent, actualBoundingBoxDescent } = metrics;
      const sides = [metrics.actualBoundingBoxLeft, metrics.actualBoundingBoxRight];
      return [metrics.width, ...sides, actualBoundingBoxAscent, actualBoundingBoxDescent].join();
    };
    const missing = measure('${NONCHARACTER}');
    for (const character of found) if (measure(character) === missing) characters.add(character);
  }
  return { characters: [...characters].join(''), families: [...families], cut: [...cut] };
})()`;
