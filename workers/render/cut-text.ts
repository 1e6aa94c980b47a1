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
export const CUT_TEXT_FUNCTION = `
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
