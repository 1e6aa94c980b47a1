import type { Metadata } from 'sharp';
import { escapeMarkup, withoutControlCharacters } from '../markup.ts';
import { containsPicture } from './embedded-pictures.ts';
import { buildRightsIptc } from './iptc.ts';
import { type PngText, pngTexts } from './png.ts';
import type { PlainTagValue } from './tag-values.ts';
import { readImageTags } from './tags.ts';
import { RDF_NAMESPACE, type XmpPacket } from './xmp.ts';

/** The rights fields of a file: the EXIF fields unchanged, and an XMP document with only the rights fields. */
interface RightsFields {
  fields: Record<string, string>;
  xmp: XmpPacket | undefined;
  /** Copyright notice and by-line as IPTC, if the file has IPTC. */
  iptc: Buffer | undefined;
  /** Copyright and author as texts of a PNG. */
  texts: readonly PngText[];
}

type PlainTags = Record<string, PlainTagValue>;

const RIGHTS_EXIF_FIELDS = ['Copyright', 'Artist'];

/**
 * The XMP fields about rights, each with the shape that its schema prescribes: one text, one text in several languages,
 * or a list.
 */
const RIGHTS_XMP_FIELDS: readonly (readonly [
  name: string,
  tag: string,
  shape: 'text' | 'Alt' | 'Seq' | 'Bag',
])[] = [
  ['dc:rights', 'rights', 'Alt'],
  ['dc:creator', 'creator', 'Seq'],
  ['xmpRights:Marked', 'Marked', 'text'],
  ['xmpRights:WebStatement', 'WebStatement', 'text'],
  ['xmpRights:Certificate', 'Certificate', 'text'],
  ['xmpRights:UsageTerms', 'UsageTerms', 'Alt'],
  ['xmpRights:Owner', 'Owner', 'Bag'],
];
/**
 * Where the text of a rights field is taken from if the XMP of a file lacks it: first from IPTC, then from the texts of
 * a PNG. It is written as XMP, because every format but GIF can carry XMP.
 */
const IPTC_FIELD_BY_XMP_TAG: Record<string, string> = { rights: 'Copyright Notice', creator: 'By-line' };
const PNG_KEYWORD_BY_XMP_TAG: Record<string, RegExp> = {
  rights: /^copyright$/i,
  creator: /^(?:author|artist)$/i,
};
const RIGHTS_KEYWORDS = Object.values(PNG_KEYWORD_BY_XMP_TAG);

/** Reads the rights fields of a file. */
export function readRights(input: Uint8Array<ArrayBuffer>, header: Metadata): RightsFields {
  const { exif = {}, xmp = {}, iptc = {} } = readImageTags(input, header);
  const texts = pngTexts(input);
  const fields = RIGHTS_EXIF_FIELDS.flatMap((name) =>
    textsOf(exif[name]).map((text) => [name, text] as const),
  );
  return {
    fields: Object.fromEntries(fields),
    xmp: rightsXmpOf((tag) => firstNonEmpty(textsOf(xmp[tag]), fallbackRightsTexts(tag, iptc, texts))),
    iptc: buildRightsIptc(textsOf(iptc['By-line']), textsOf(iptc['Copyright Notice'])),
    texts: texts.filter(({ keyword }) => RIGHTS_KEYWORDS.some((pattern) => pattern.test(keyword))),
  };
}

/** The rights that the XMP of a file lacks, because only its IPTC or the texts of a PNG state them. */
export function readRightsOutsideXmp(
  input: Uint8Array<ArrayBuffer>,
  header: Metadata,
): XmpPacket | undefined {
  const { xmp = {}, iptc = {} } = readImageTags(input, header);
  const texts = pngTexts(input);
  return rightsXmpOf((tag) => (textsOf(xmp[tag]).length > 0 ? [] : fallbackRightsTexts(tag, iptc, texts)));
}

function fallbackRightsTexts(tag: string, iptc: PlainTags, texts: readonly PngText[]): string[] {
  const pattern = PNG_KEYWORD_BY_XMP_TAG[tag];
  const matchingTexts = texts.filter(({ keyword }) => pattern?.test(keyword)).map(({ text }) => text);
  return firstNonEmpty(textsOf(iptc[IPTC_FIELD_BY_XMP_TAG[tag] ?? '']), textsOf(matchingTexts));
}

function firstNonEmpty(one: string[], other: string[]): string[] {
  return one.length > 0 ? one : other;
}

/** The packet with the rights fields that have texts; undefined if none has. */
function rightsXmpOf(textsOfTag: (tag: string) => string[]): XmpPacket | undefined {
  const elements = RIGHTS_XMP_FIELDS.map(([name, tag, shape]) => {
    const texts = textsOfTag(tag);
    return texts.length === 0 ? '' : `<${name}>${shapedMarkup(texts, shape)}</${name}>`;
  }).join('');
  if (elements === '') return undefined;
  const rdf = `xmlns:rdf="${RDF_NAMESPACE}"`;
  const namespaces = `${rdf} xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xmpRights="http://ns.adobe.com/xap/1.0/rights/"`;
  return {
    start: `<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF ${rdf}>`,
    descriptions: [`<rdf:Description rdf:about="" ${namespaces}>${elements}</rdf:Description>`],
    end: '</rdf:RDF></x:xmpmeta>',
  };
}

/**
 * The XMP markup of texts in the shape of their field. The languages of the texts are unknown, so the first text is the
 * default for all languages.
 */
function shapedMarkup(texts: string[], shape: 'text' | 'Alt' | 'Seq' | 'Bag'): string {
  const items = texts.map((text) => escapeMarkup(withoutControlCharacters(text)));
  const [first = ''] = items;
  if (shape === 'text') return first;
  if (shape === 'Alt') return `<rdf:Alt><rdf:li xml:lang="x-default">${first}</rdf:li></rdf:Alt>`;
  return `<rdf:${shape}>${items.map((item) => `<rdf:li>${item}</rdf:li>`).join('')}</rdf:${shape}>`;
}

/** The texts of a tag that holds one text or a list. Text that encodes a picture is left out. */
function textsOf(value: PlainTagValue | undefined): string[] {
  const values = Array.isArray(value) ? value : [value];
  return values.filter(
    (one): one is string => typeof one === 'string' && one.trim() !== '' && !containsPicture(one),
  );
}
