/**
 * The share of a line's height by which it may reach over an edge before it counts as cut. The box of a line is taller
 * than its letters, and lines of little height overlap the edges of their boxes although every letter is seen.
 */
const MAX_OVERHANG = 0.25;

/**
 * JavaScript of a function that returns whether a part of a text node cannot be seen: a box around the text, or the
 * edge of the picture, cuts a line of it. Boxes cut what they do not show by `overflow`, also if an ellipsis ends it. A
 * box cuts only text that it contains: text that is placed absolutely may be within an element, but not in its box.
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
