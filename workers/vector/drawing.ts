import type { Size } from '../formats/size.ts';
import { MEDIUM_FONT_PX, naturalSizeOf, viewBoxIn } from '../formats/svg.ts';

/** An element as read; its values are not escaped. */
export interface Element {
  name: string;
  attributes: Readonly<Record<string, string>>;
}

/** The renderer takes bytes for a drawing by these, which a root with a prefix does not have (`s:svg`). */
const MARK = '<!--<svg-->';
/** The renderer draws nothing in a viewBox with a smaller side. */
const MIN_BOX_SIDE = 1 / 256;
const SIZE_DECLARATION = /(^|;)\s*(?:width|height)\s*:[^;]*/gi;

/** A drawing that refers to nothing outside itself: its root, whose size can be set, and its content as text. */
export class Drawing {
  /** The natural size in CSS pixels, not rounded; null if it depends on the content. */
  readonly size: Size | null;
  /** The files of the raster pictures in it, and in the drawings in it. */
  readonly pictures: readonly Buffer[];
  readonly #root: Element;
  readonly #content: string;

  constructor({ name, attributes }: Element, content: string, pictures: readonly Buffer[]) {
    // Browsers draw text without a font size in this one; the renderer's own is smaller.
    this.#root = { name, attributes: { 'font-size': `${MEDIUM_FONT_PX}`, ...attributes } };
    this.#content = content;
    this.pictures = pictures;
    this.size = naturalSizeOf((key) => attributes[key]);
  }

  /** The drawing in its own size, as UTF-8 text. */
  text(): string {
    return this.#written(this.#root.attributes);
  }

  /**
   * The drawing in another size, as UTF-8 text.
   * @param natural its natural size.
   * @param px the size to give it. It is declared in the style, because a style goes before attributes.
   */
  textAt(natural: Size, px: Size): string {
    const { width: _width, height: _height, style = '', viewBox, ...others } = this.#root.attributes;
    const box = viewBoxIn(viewBox);
    const size = `width:${px.width}px!important;height:${px.height}px!important;`;
    return this.#written({
      ...others,
      viewBox: (box && viewBox) ?? `0 0 ${natural.width} ${natural.height}`,
      ...(isInShape(px, box ?? natural) && { preserveAspectRatio: 'none' }),
      style: `${size}${style.replace(SIZE_DECLARATION, '$1')}`,
    });
  }

  #written(attributes: Element['attributes']): string {
    const { name } = this.#root;
    const mark = name === 'svg' ? '' : MARK;
    const factor = enlargementOf(attributes.viewBox);
    const viewBox = factor > 1 && { viewBox: scaledBox(attributes.viewBox, factor) };
    // The group is of the namespace of the root, whatever its prefix is.
    const group = { name: name.replace(/svg$/, 'g'), attributes: { transform: `scale(${factor})` } };
    const content = factor > 1 ? `${startTag(group)}${this.#content}</${group.name}>` : this.#content;
    return `${mark}${startTag({ name, attributes: { ...attributes, ...viewBox } })}${content}</${name}>`;
  }
}

/** The factor by which a tiny viewBox, and all in it, is enlarged; 1 for any other. Shares of it become too large. */
function enlargementOf(viewBox: string | undefined): number {
  const box = viewBoxIn(viewBox);
  const side = box === null ? 1 : Math.min(box.width, box.height);
  return side > MIN_BOX_SIDE ? 1 : 1 / side;
}

function scaledBox(viewBox = '', factor: number): string {
  const numbers = viewBox.trim().split(/[\s,]+/);
  return numbers.map((number) => Number(number) * factor).join(' ');
}

/** Whether a box fills whole pixels but for a part of one, which would be left transparent. */
function isInShape(px: Size, box: Size): boolean {
  const ratio = box.width / box.height;
  return Math.abs(px.height * ratio - px.width) < 1 || Math.abs(px.width / ratio - px.height) < 1;
}

export function startTag({ name, attributes }: Element, isSelfClosing = false): string {
  let tag = `<${name}`;
  for (const key in attributes) tag += ` ${key}="${escapedValue(attributes[key] ?? '')}"`;
  return isSelfClosing ? `${tag}/>` : `${tag}>`;
}

export function escapedText(text: string): string {
  return text.replace(/[&<>\r]/g, escapeOf);
}

function escapedValue(value: string): string {
  return value.replace(/[&<"\t\n\r]/g, escapeOf);
}

function escapeOf(sign: string): string {
  return `&#${sign.charCodeAt(0)};`;
}
