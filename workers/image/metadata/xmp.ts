import { SaxesParser, type SaxesTagNS } from 'saxes';
import { escapeMarkup, escapeMarkupAttribute } from '../markup.ts';
import { containsPicture } from './embedded-pictures.ts';

/**
 * The XMP (ISO 16684-1) that a result carries: without embedded copies of the picture, and without facts that are true
 * of the original file alone. The packet is parsed and written again, so that a property is dropped in every form: as
 * an attribute, or as an element with its content.
 */

/** Longer packets are not carried. Packets of cameras and programs are far shorter. */
const MAX_PACKET_BYTES = 1024 * 1024;
/** Deeper packets are not carried: the parser looks for the namespace of a name in every element around it. */
const MAX_DEPTH = 64;
const XMLNS = 'http://www.w3.org/2000/xmlns/';
const RDF = 'http://www.w3.org/1999/02/22-rdf-syntax-ns#';
/** The elements around the descriptions of a packet. They stay even if nothing is left in them. */
const ROOTS: readonly string[] = ['xmpmeta', 'xapmeta', 'RDF'];

/** The properties to drop: a namespace, and the names within it. */
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
  // The reference to the extended packet, where a packet is too long for one segment of a JPEG.
  [/^http:\/\/ns\.adobe\.com\/xmp\/note\//, ALL],
  // The size, orientation and encoding of the original file.
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

/** Properties that give places in the picture. They are true only as long as no pixel is moved. */
const PLACES: Dropped = [
  [/^http:\/\/ns\.google\.com\/photos\/1\.0\/panorama\/$/, /^(?:CroppedArea|FullPano|LargestValid)/],
  [/^http:\/\/www\.metadataworkinggroup\.com\/schemas\/regions\/$/, ALL],
  [/^http:\/\/ns\.microsoft\.com\/photo\/1\.2\/(?:t\/Region#)?$/, ALL],
  [/^http:\/\/ns\.acdsee\.com\/regions\/$/, ALL],
  [/^http:\/\/iptc\.org\/std\/Iptc4xmpExt\//, /^ImageRegion$/],
  // Crops, and lists of places that were retouched, of the picture before it was developed.
  [
    /^http:\/\/ns\.adobe\.com\/camera-raw-settings\/1\.0\/$/,
    /^(?:HasCrop|Crop.*|Retouch.*|RedEyeInfo|.*Corrections)$/,
  ],
];

/**
 * The packet without the properties that are not carried.
 * @param movesPixels whether the pass may move pixels. Places in the picture are then dropped too.
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
  /** The text of the element itself, without the text of elements in it. */
  text: string;
  isDropped: boolean;
  /** Whether an attribute or an element is left in it. */
  holdsFacts: boolean;
  /** Whether something in it was dropped. */
  hasLost: boolean;
}

class PacketWriter {
  written = '';
  readonly #dropped: Dropped;
  readonly #open: OpenElement[] = [];

  constructor(dropped: Dropped) {
    this.#dropped = dropped;
  }

  /** Copies the packet's own instructions, which mark its beginning and end, so that programs find it in a file. */
  instruction(target: string, body: string): void {
    if (target === 'xpacket') this.#write(`<?${target} ${body}?>`);
  }

  /** @throws RangeError */
  open({ name, uri, local, attributes }: SaxesTagNS): void {
    if (this.#open.length === MAX_DEPTH) throw new RangeError('The packet is too deep.');
    let text = '';
    let holdsFacts = ROOTS.includes(local);
    let hasLost = false;
    for (const attribute of Object.values(attributes)) {
      const { value } = attribute;
      const isDropped =
        attribute.uri === XMLNS
          ? this.#drops(value, '')
          : this.#drops(attribute.uri, attribute.local) || containsPicture(value);
      const isFact = attribute.uri !== XMLNS && attribute.uri !== RDF;
      if (isDropped) hasLost ||= isFact;
      else text += ` ${attribute.name}="${escapeMarkupAttribute(value)}"`;
      holdsFacts ||= isFact && !isDropped;
    }
    const isDropped = this.#drops(uri, local);
    this.#open.push({ name, attributes: text, content: '', text: '', isDropped, holdsFacts, hasLost });
  }

  text(text: string): void {
    const element = this.#open.at(-1);
    if (element === undefined) return;
    element.text += text;
    element.content += escapeMarkup(text);
  }

  /** Closes an element. A list, or an entry of a list, is dropped if nothing is left in it. */
  close(): void {
    const element = this.#open.pop();
    if (element === undefined) return;
    const { name, attributes, content, text, isDropped, holdsFacts, hasLost } = element;
    const parent = this.#open.at(-1);
    const isEmptied = hasLost && !holdsFacts && text.trim() === '';
    if (isDropped || isEmptied || containsPicture(text)) {
      if (parent !== undefined) parent.hasLost = true;
      return;
    }
    if (parent !== undefined) parent.holdsFacts = true;
    this.#write(content === '' ? `<${name}${attributes}/>` : `<${name}${attributes}>${content}</${name}>`);
  }

  #write(markup: string): void {
    const parent = this.#open.at(-1);
    if (parent === undefined) this.written += markup;
    else parent.content += markup;
  }

  /**
   * Whether a property is dropped.
   * @param name of a property; empty for the declaration of a namespace, which is dropped if all of its properties
   *   are.
   */
  #drops(namespace: string, name: string): boolean {
    return this.#dropped.some(([namespaces, names]) => namespaces.test(namespace) && names.test(name));
  }
}
