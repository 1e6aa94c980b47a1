import { SaxesParser, type SaxesTagNS } from 'saxes';
import { escapeMarkup, escapeMarkupAttribute } from '../markup.ts';
import { containsPicture } from './embedded-pictures.ts';

/**
 * The XMP (ISO 16684-1) that a result carries: without embedded copies of the picture, and without facts that are true
 * of the original file alone. The packet is parsed and written again, so that a property is dropped in every form: as
 * an attribute, or as an element with its content.
 */

/** The longest packet that is copied to a result. Packets of cameras and programs are far shorter. */
const MAX_PACKET_BYTES = 1024 * 1024;
/**
 * The deepest nesting of a packet that is copied to a result. The parser looks for the namespace of a name in every
 * element around it, so deep nesting would take too long.
 */
const MAX_ELEMENT_DEPTH = 64;
const XMLNS_NAMESPACE = 'http://www.w3.org/2000/xmlns/';
export const RDF_NAMESPACE = 'http://www.w3.org/1999/02/22-rdf-syntax-ns#';
/** The namespace of the reference to a second packet. */
export const NOTE_NAMESPACE = 'http://ns.adobe.com/xmp/note/';
/** The elements around the descriptions of a packet. They are written even if nothing is left in them. */
const ENCLOSING_ELEMENTS: readonly string[] = ['xmpmeta', 'xapmeta', 'RDF'];

/** The properties to drop: a namespace, and the names within it. */
type PropertyPatterns = readonly (readonly [namespace: RegExp, names: RegExp])[];
const ANY_NAME = /^/;

const UNCARRIED_PROPERTIES: PropertyPatterns = [
  // Copies of the picture.
  [/^http:\/\/ns\.adobe\.com\/xap\/1\.0\/$/, /^Thumbnails$/],
  [/^http:\/\/ns\.adobe\.com\/xap\/1\.0\/g\/img\//, ANY_NAME],
  // Pictures, gain maps, depth maps, sounds and videos that a phone adds to the file. Panoramas are not among them.
  [/^http:\/\/ns\.[\w-]+\.com\/photos\/(?!1\.0\/panorama\/)/, ANY_NAME],
  [/^http:\/\/ns\.adobe\.com\/hdr-gain-map\//, ANY_NAME],
  [/^http:\/\/ns\.apple\.com\/(?:HDRGainMap|pixeldatainfo)\//, ANY_NAME],
  // The reference to the second packet. It is dropped, because the properties of both packets are written as one
  // packet.
  [RegExp(`^${RegExp.escape(NOTE_NAMESPACE)}`), ANY_NAME],
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

/** Properties that give positions in the picture. They are true only as long as no pixel is moved. */
const POSITION_PROPERTIES: PropertyPatterns = [
  [/^http:\/\/ns\.google\.com\/photos\/1\.0\/panorama\/$/, /^(?:CroppedArea|FullPano|LargestValid)/],
  [/^http:\/\/www\.metadataworkinggroup\.com\/schemas\/regions\/$/, ANY_NAME],
  [/^http:\/\/ns\.microsoft\.com\/photo\/1\.2\/(?:t\/Region#)?$/, ANY_NAME],
  [/^http:\/\/ns\.acdsee\.com\/regions\/$/, ANY_NAME],
  [/^http:\/\/iptc\.org\/std\/Iptc4xmpExt\//, /^ImageRegion$/],
  // Crops and retouched spots. Their positions refer to the raw picture, before it was developed.
  [
    /^http:\/\/ns\.adobe\.com\/camera-raw-settings\/1\.0\/$/,
    /^(?:HasCrop|Crop.*|Retouch.*|RedEyeInfo|.*Corrections)$/,
  ],
];

/** An XMP packet that is ready to be written, in parts, because a long one is divided. */
export interface XmpPacket {
  /** The markup before the descriptions of the picture, and after them. */
  start: string;
  end: string;
  descriptions: readonly string[];
}

export function xmpText({ start, descriptions, end }: XmpPacket): string {
  return `${start}${descriptions.join('')}${end}`;
}

/**
 * The packet, without the properties that a result must not have.
 * @param movesPixels whether the pass may move pixels. Properties that give positions in the picture are then dropped
 * too.
 * @param second the second packet of a JPEG, whose descriptions are added to those of the main one.
 * @returns undefined for a packet that does not parse, has no RDF, or is too long or too deep.
 */
export function carriedXmp(
  packet: Uint8Array,
  { movesPixels, second }: { movesPixels: boolean; second?: Uint8Array | undefined },
): XmpPacket | undefined {
  const dropped = movesPixels ? [...UNCARRIED_PROPERTIES, ...POSITION_PROPERTIES] : UNCARRIED_PROPERTIES;
  const main = new PacketWriter(dropped);
  const written = writePacketWith(main, packet);
  if (written === undefined || second === undefined) return written;
  const more = writePacketWith(new PacketWriter(dropped, main), second);
  return { ...written, descriptions: [...written.descriptions, ...(more?.descriptions ?? [])] };
}

function writePacketWith(writer: PacketWriter, packet: Uint8Array): XmpPacket | undefined {
  if (packet.byteLength > MAX_PACKET_BYTES) return undefined;
  const parser = new SaxesParser({ xmlns: true, position: false } as const);
  parser.on('processinginstruction', ({ target, body }) => writer.instruction(target, body));
  parser.on('opentag', (tag) => writer.open(tag));
  parser.on('closetag', () => writer.close());
  parser.on('text', (text) => writer.text(text));
  parser.on('cdata', (text) => writer.text(text));
  try {
    // Some programs fill a packet up with zero bytes.
    const end = packet.findLastIndex((byte) => byte !== 0) + 1;
    const text = new TextDecoder('utf-8', { fatal: true }).decode(packet.subarray(0, end));
    parser.write(text.trim()).close();
    return writer.packet;
  } catch {
    return undefined;
  }
}

/** An element whose end has not been read yet. */
interface OpenElement {
  name: string;
  attributes: string;
  /** The namespaces that its attributes declare, by prefix. */
  declared: Record<string, string>;
  content: string;
  /** The text of the element itself, without the text of elements in it. */
  text: string;
  isDropped: boolean;
  /** Whether an attribute or a child element is kept. */
  hasKept: boolean;
  /** Whether an attribute or a child element was dropped. */
  hasDropped: boolean;
}

/** A placeholder for the descriptions in the markup around them. XML never has this character. */
const DESCRIPTIONS_PLACEHOLDER = '\0';

class PacketWriter {
  readonly #droppedProperties: PropertyPatterns;
  /** The properties of the main packet, if this is the writer of a second packet. */
  readonly #mainProperties: ReadonlySet<string> | undefined;
  readonly #openElements: OpenElement[] = [];
  readonly #descriptions: string[] = [];
  /** The properties of the picture that the packet has, as namespace and name. */
  readonly #properties = new Set<string>();
  /** The element that holds the descriptions. */
  #rdfElement: OpenElement | undefined;
  #written = '';

  /**
   * @param main the writer of the packet to which the descriptions will be added. Properties that the main packet has
   *   are then left out, because a property may occur only once. The descriptions then declare the namespaces of the
   *   elements around them.
   */
  constructor(dropped: PropertyPatterns, main?: PacketWriter) {
    this.#droppedProperties = dropped;
    this.#mainProperties = main === undefined ? undefined : main.#properties;
  }

  /** The packet that has been written; undefined if it has no RDF. */
  get packet(): XmpPacket | undefined {
    const [start = '', end] = this.#written.split(DESCRIPTIONS_PLACEHOLDER);
    return end === undefined ? undefined : { start, end, descriptions: this.#descriptions };
  }

  /**
   * Copies the instructions of the packet (`<?xpacket …?>`) at its beginning and its end, by which programs find it in
   * a file.
   */
  instruction(target: string, body: string): void {
    if (target === 'xpacket') this.#write(`<?${target} ${body}?>`);
  }

  /**
   * Opens an element, unless its property is dropped.
   * @throws RangeError if the elements are nested too deeply.
   */
  open({ name, uri, local, attributes }: SaxesTagNS): void {
    if (this.#openElements.length === MAX_ELEMENT_DEPTH) throw new RangeError('The packet is too deep.');
    const isDescription = this.#isRdf(this.#openElements.at(-1));
    const isProperty = this.#isRdf(this.#openElements.at(-2));
    const declared: Record<string, string> = {};
    let text = '';
    let hasKept = ENCLOSING_ELEMENTS.includes(local);
    let hasDropped = false;
    for (const attribute of Object.values(attributes)) {
      const { value } = attribute;
      if (attribute.uri === XMLNS_NAMESPACE) {
        if (!this.#isDropped(value, '')) declared[attribute.name] = value;
        continue;
      }
      const isFact = attribute.uri !== RDF_NAMESPACE;
      const isRepeated = isDescription && isFact && this.#recordProperty(attribute.uri, attribute.local);
      const isDropped =
        isRepeated || this.#isDropped(attribute.uri, attribute.local) || containsPicture(value);
      if (isDropped) hasDropped ||= isFact;
      else text += attributeText(attribute.name, value);
      hasKept ||= isFact && !isDropped;
    }
    const isDropped = (isProperty && this.#recordProperty(uri, local)) || this.#isDropped(uri, local);
    const around =
      isDescription && this.#mainProperties !== undefined
        ? this.#openElements.map((outer) => outer.declared)
        : [];
    const namespaces: Record<string, string> = Object.assign({}, ...around, declared);
    const element: OpenElement = {
      name,
      attributes:
        Object.entries(namespaces)
          .map(([prefix, uri]) => attributeText(prefix, uri))
          .join('') + text,
      declared,
      content: '',
      text: '',
      isDropped,
      hasKept,
      hasDropped,
    };
    this.#openElements.push(element);
    if (uri === RDF_NAMESPACE && local === 'RDF') this.#rdfElement ??= element;
  }

  #isRdf(element: OpenElement | undefined): boolean {
    return element !== undefined && element === this.#rdfElement;
  }

  /**
   * Records a property of the picture.
   * @returns whether the main packet has it too, so that it is repeated here.
   */
  #recordProperty(namespace: string, name: string): boolean {
    const property = `${namespace} ${name}`;
    this.#properties.add(property);
    return this.#mainProperties?.has(property) ?? false;
  }

  text(text: string): void {
    const element = this.#openElements.at(-1);
    if (element === undefined) return;
    element.text += text;
    element.content += escapeMarkup(text);
  }

  /** Closes an element. A list, or an entry of a list, is dropped if nothing is left in it. */
  close(): void {
    const element = this.#openElements.pop();
    if (element === undefined) return;
    const { name, attributes, text, isDropped, hasKept, hasDropped } = element;
    const content = this.#isRdf(element) ? DESCRIPTIONS_PLACEHOLDER : element.content;
    const parent = this.#openElements.at(-1);
    const isEmptied = hasDropped && !hasKept && text.trim() === '';
    if (isDropped || isEmptied || containsPicture(text)) {
      if (parent !== undefined) parent.hasDropped = true;
      return;
    }
    if (parent !== undefined) parent.hasKept = true;
    this.#write(content === '' ? `<${name}${attributes}/>` : `<${name}${attributes}>${content}</${name}>`);
  }

  #write(markup: string): void {
    const parent = this.#openElements.at(-1);
    if (parent === undefined) this.#written += markup;
    else if (this.#isRdf(parent)) this.#descriptions.push(markup);
    else parent.content += markup;
  }

  /**
   * Whether a property is dropped.
   * @param name of a property; empty for the declaration of a namespace, which is dropped if all of its properties
   *   are.
   */
  #isDropped(namespace: string, name: string): boolean {
    return this.#droppedProperties.some(
      ([namespaces, names]) => namespaces.test(namespace) && names.test(name),
    );
  }
}

function attributeText(name: string, value: string): string {
  return ` ${name}="${escapeMarkupAttribute(value)}"`;
}
