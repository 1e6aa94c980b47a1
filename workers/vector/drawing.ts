import type { Size } from '../formats/size.ts';
import { DEFAULT_FONT_SIZE_PX, naturalSvgSizeOf, viewBoxSizeIn } from '../formats/svg.ts';

/** An element of a parsed SVG. Its attribute values are not escaped. */
export interface SvgElement {
  name: string;
  attributes: Readonly<Record<string, string>>;
}

/** A raster picture inside a drawing: its `data:` URL, and the file that it holds. */
export interface EmbeddedPicture {
  address: string;
  file: Buffer;
}

/**
 * The text by which the renderer recognises a drawing, as a comment. A root with a prefix, such as `s:svg`, does not
 * contain it.
 */
const SVG_MARK = '<!--<svg-->';
/** The smallest side of a viewBox. If a side is smaller, the renderer draws nothing. */
const MIN_VIEW_BOX_SIDE = 1 / 256;
const SIZE_DECLARATION = /(^|;)\s*(?:width|height)\s*:[^;]*/gi;

/**
 * A drawing that refers to nothing outside itself: its root element, whose size can be set, and its content as text.
 */
export class SafeDrawing {
  /** The natural size in CSS pixels, not rounded; null if it depends on the content. */
  readonly size: Size | null;
  /** The raster pictures in the drawing, and in the drawings within it. */
  readonly pictures: readonly EmbeddedPicture[];
  readonly #root: SvgElement;
  readonly #content: string;

  constructor({ name, attributes }: SvgElement, content: string, pictures: readonly EmbeddedPicture[]) {
    // The browsers' default font size is set, because the renderer's own default is smaller.
    this.#root = { name, attributes: { 'font-size': `${DEFAULT_FONT_SIZE_PX}`, ...attributes } };
    this.#content = content;
    this.pictures = pictures;
    this.size = naturalSvgSizeOf((key) => attributes[key]);
  }

  /** The drawing in its own size, as UTF-8 text. */
  text(): string {
    return this.#markupWith(this.#root.attributes);
  }

  /**
   * The drawing in another size, as UTF-8 text.
   * @param natural its natural size.
   * @param px the size to give it. The size is declared in the style, because a style takes precedence over
   *   attributes.
   */
  textAt(natural: Size, px: Size): string {
    const { width: _width, height: _height, style = '', viewBox, ...others } = this.#root.attributes;
    const box = viewBoxSizeIn(viewBox);
    const size = `width:${px.width}px!important;height:${px.height}px!important;`;
    return this.#markupWith({
      ...others,
      viewBox: (box && viewBox) ?? `0 0 ${natural.width} ${natural.height}`,
      ...(hasSameShape(px, box ?? natural) && { preserveAspectRatio: 'none' }),
      style: `${size}${style.replace(SIZE_DECLARATION, '$1')}`,
    });
  }

  #markupWith(attributes: SvgElement['attributes']): string {
    const { name } = this.#root;
    const mark = name === 'svg' ? '' : SVG_MARK;
    const factor = enlargementOf(attributes.viewBox);
    const viewBox = factor > 1 && { viewBox: scaledViewBox(attributes.viewBox, factor) };
    // The group gets the prefix of the root, so that it is in the same namespace.
    const group = { name: name.replace(/svg$/, 'g'), attributes: { transform: `scale(${factor})` } };
    const content = factor > 1 ? `${startTagText(group)}${this.#content}</${group.name}>` : this.#content;
    return `${mark}${startTagText({ name, attributes: { ...attributes, ...viewBox } })}${content}</${name}>`;
  }
}

/** The factor by which a tiny viewBox, and its content, is enlarged; 1 for any other viewBox. */
function enlargementOf(viewBox: string | undefined): number {
  const box = viewBoxSizeIn(viewBox);
  const side = box === null ? 1 : Math.min(box.width, box.height);
  return side > MIN_VIEW_BOX_SIDE ? 1 : 1 / side;
}

function scaledViewBox(viewBox = '', factor: number): string {
  const numbers = viewBox.trim().split(/[\s,]+/);
  return numbers.map((number) => Number(number) * factor).join(' ');
}

/**
 * Whether a box has the same shape as a size in pixels, so that less than a row or column of pixels would stay
 * transparent.
 */
function hasSameShape(px: Size, box: Size): boolean {
  const ratio = box.width / box.height;
  return Math.abs(px.height * ratio - px.width) < 1 || Math.abs(px.width / ratio - px.height) < 1;
}

export function startTagText({ name, attributes }: SvgElement, isSelfClosing = false): string {
  let tag = `<${name}`;
  for (const key in attributes) tag += ` ${key}="${escapeAttributeValue(attributes[key] ?? '')}"`;
  return isSelfClosing ? `${tag}/>` : `${tag}>`;
}

export function escapeXmlText(text: string): string {
  return text.replace(/[&<>\r]/g, characterReference);
}

function escapeAttributeValue(value: string): string {
  return value.replace(/[&<"\t\n\r]/g, characterReference);
}

function characterReference(sign: string): string {
  return `&#${sign.charCodeAt(0)};`;
}
