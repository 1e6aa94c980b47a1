import { SaxesParser, type SaxesTagNS } from 'saxes';
import { escaped, escapedValue } from '../markup.ts';
import { holdsPicture } from './embedded-pictures.ts';

/**
 * The XMP (ISO 16684-1) that a result carries: without further copies of the picture, and without facts that are true
 * of the original file alone. The packet is parsed and written again, so a property goes in whatever form it is
 * written: as an attribute, or as an element with all that is in it.
 */

/** Longer packets are not carried; those of cameras and programs are far below. */
const MAX_PACKET_BYTES = 1024 * 1024;
/** Deeper packets are not carried: the parser looks for the namespace of a name in every element around it. */
const MAX_DEPTH = 64;
const XMLNS = 'http://www.w3.org/2000/xmlns/';

/** The properties of a namespace that are dropped, by their names. */
type Dropped = readonly (readonly [namespace: RegExp, names: RegExp])[];
const ALL = /^/;

const NOT_CARRIED: Dropped = [
  // Copies of the picture.
  [/^http:\/\/ns\.adobe\.com\/xap\/1\.0\/$/, /^Thumbnails$/],
  [/^http:\/\/ns\.adobe\.com\/xap\/1\.0\/g\/img\//, ALL],
  // Pictures, gain maps, depth maps, sounds and videos that a phone adds to the file. Panoramas are not among them.
  [/^http:\/\/ns\.[\w-]+\.com\/photos\/(?!1\.0\/panorama\/)/, ALL],
  [/^http:\/\/ns\.adobe\.com\/hdr-gain-map\//, ALL],
  [/^http:\/\/ns\.apple\.com\/(?:HDRGainMap|pixeldatainfo)\//, ALL],
  // The rest of a packet that is too long for one segment of a JPEG.
  [/^http:\/\/ns\.adobe\.com\/xmp\/note\//, ALL],
  // Size, turn and coding of the original file.
  [
    /^http:\/\/ns\.adobe\.com\/tiff\/1\.0\/$/,
    /^(?:Orientation|Image(?:Width|Length)|BitsPerSample|Compression|PhotometricInterpretation|SamplesPerPixel|PlanarConfiguration|YCbCr.*|NativeDigest)$/,
  ],
  [
    /^http:\/\/ns\.adobe\.com\/exif\/1\.0\/$/,
    /^(?:Pixel[XY]Dimension|Subject(?:Area|Location)|ComponentsConfiguration|CompressedBitsPerPixel|MakerNote|NativeDigest)$/,
  ],
  [/^http:\/\/ns\.adobe\.com\/photoshop\/1\.0\/$/, /^(?:ColorMode|ICCProfile)$/],
  [/^http:\/\/purl\.org\/dc\/elements\/1\.1\/$/, /^format$/],
];

/** Places in the picture, which hold only as long as no pixel is moved. */
const PLACES: Dropped = [
  [/^http:\/\/ns\.google\.com\/photos\/1\.0\/panorama\/$/, /^(?:CroppedArea|FullPano|LargestValid)/],
  [/^http:\/\/www\.metadataworkinggroup\.com\/schemas\/regions\/$/, ALL],
  [/^http:\/\/ns\.microsoft\.com\/photo\/1\.2\/(?:t\/Region#)?$/, ALL],
  [/^http:\/\/ns\.acdsee\.com\/regions\/$/, ALL],
  [/^http:\/\/iptc\.org\/std\/Iptc4xmpExt\//, /^ImageRegion$/],
];

/**
 * The packet without what is not carried.
 * @param movesPixels whether a pixel of the picture may have another place, so that places go as well.
 * @returns undefined for a packet that does not parse, or is too long or too deep.
 */
export function carriedXmp(
  packet: Uint8Array,
  { movesPixels }: { movesPixels: boolean },
): string | undefined {
  if (packet.byteLength > MAX_PACKET_BYTES) return undefined;
  const writer = new PacketWriter(movesPixels ? [...NOT_CARRIED, ...PLACES] : NOT_CARRIED);
  const parser = new SaxesParser({ xmlns: true, position: false } as const);
  parser.on('processinginstruction', ({ target, body }) => writer.instruction(target, body));
  parser.on('opentag', (tag) => writer.open(tag));
  parser.on('closetag', () => writer.close());
  parser.on('text', (text) => writer.text(text));
  parser.on('cdata', (text) => writer.text(text));
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(packet);
    parser.write(text.replace(/\0+$/, '').trim()).close();
    return writer.written;
  } catch {
    return undefined;
  }
}

/** An element whose end has not been read yet. */
interface OpenElement {
  name: string;
  attributes: string;
  content: string;
  /** Its own text, without that of the elements in it. */
  text: string;
  isDropped: boolean;
}

class PacketWriter {
  written = '';
  readonly #dropped: Dropped;
  readonly #open: OpenElement[] = [];

  constructor(dropped: Dropped) {
    this.#dropped = dropped;
  }

  /** The packet's own instructions mark its beginning and end, so that programs find it in a file. */
  instruction(target: string, body: string): void {
    if (target === 'xpacket') this.#write(`<?${target} ${body}?>`);
  }

  /** @throws RangeError */
  open({ name, uri, local, attributes }: SaxesTagNS): void {
    if (this.#open.length === MAX_DEPTH) throw new RangeError('The packet is too deep.');
    let text = '';
    for (const attribute of Object.values(attributes)) {
      const { value } = attribute;
      const isDropped =
        attribute.uri === XMLNS
          ? this.#drops(value, '')
          : this.#drops(attribute.uri, attribute.local) || holdsPicture(value);
      if (!isDropped) text += ` ${attribute.name}="${escapedValue(value)}"`;
    }
    this.#open.push({ name, attributes: text, content: '', text: '', isDropped: this.#drops(uri, local) });
  }

  text(text: string): void {
    const element = this.#open.at(-1);
    if (element === undefined) return;
    element.text += text;
    element.content += escaped(text);
  }

  close(): void {
    const element = this.#open.pop();
    if (element === undefined || element.isDropped || holdsPicture(element.text)) return;
    const { name, attributes, content } = element;
    this.#write(content === '' ? `<${name}${attributes}/>` : `<${name}${attributes}>${content}</${name}>`);
  }

  #write(markup: string): void {
    const parent = this.#open.at(-1);
    if (parent === undefined) this.written += markup;
    else parent.content += markup;
  }

  /** @param name of a property; empty for the declaration of a namespace, which goes if all of its properties do. */
  #drops(namespace: string, name: string): boolean {
    return this.#dropped.some(([namespaces, names]) => namespaces.test(namespace) && names.test(name));
  }
}
