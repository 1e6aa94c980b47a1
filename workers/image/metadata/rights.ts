import type { Metadata } from 'sharp';
import type { OutputFormat } from '../../protocol.ts';
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
 * Where the text of a rights field is taken from if the XMP of a file lacks it: from EXIF for a result that cannot
 * carry EXIF, then from IPTC, then from the texts of a PNG. It is written as XMP, because every format can carry XMP.
 */
const EXIF_FIELD_BY_XMP_TAG: Record<string, string> = { rights: 'Copyright', creator: 'Artist' };
const IPTC_FIELD_BY_XMP_TAG: Record<string, string> = { rights: 'Copyright Notice', creator: 'By-line' };
const PNG_KEYWORD_BY_XMP_TAG: Record<string, RegExp> = {
  rights: /^copyright$/i,
  creator: /^(?:author|artist)$/i,
};
const RIGHTS_KEYWORDS = Object.values(PNG_KEYWORD_BY_XMP_TAG);

/** Reads the rights fields of a file for a result of a format. */
export function readRights(
  input: Uint8Array<ArrayBuffer>,
  header: Metadata,
  outputFormat: OutputFormat,
): RightsFields {
  const tags = readImageTags(input, header);
  const { exif = {}, xmp = {}, iptc = {} } = tags;
  const texts = pngTexts(input);
  const fields = Object.values(EXIF_FIELD_BY_XMP_TAG).flatMap((name) =>
    textsOf(exif[name]).map((text) => [name, text] as const),
  );
  const fallback = fallbackReaderFor(tags, texts, outputFormat);
  return {
    fields: Object.fromEntries(fields),
    xmp: rightsXmpOf((tag) => firstNonEmpty(textsOf(xmp[tag]), fallback(tag))),
    iptc: buildRightsIptc(textsOf(iptc['By-line']), textsOf(iptc['Copyright Notice'])),
    texts: texts.filter(({ keyword }) => RIGHTS_KEYWORDS.some((pattern) => pattern.test(keyword))),
  };
}

/** The rights that the XMP of a file lacks, because only blocks that a result of that format cannot carry have them. */
export function readRightsOutsideXmp(
  input: Uint8Array<ArrayBuffer>,
  header: Metadata,
  outputFormat: OutputFormat,
): XmpPacket | undefined {
  const tags = readImageTags(input, header);
  const fallback = fallbackReaderFor(tags, pngTexts(input), outputFormat);
  return rightsXmpOf((tag) => (textsOf(tags.xmp?.[tag]).length > 0 ? [] : fallback(tag)));
}

/** Returns a function that reads the texts that replace an XMP field. */
function fallbackReaderFor(
  { exif = {}, iptc = {} }: Record<string, PlainTags>,
  texts: readonly PngText[],
  outputFormat: OutputFormat,
): (tag: string) => string[] {
  const carriesExif = outputFormat !== 'gif';
  return (tag) => {
    const pattern = PNG_KEYWORD_BY_XMP_TAG[tag];
    const matchingTexts = texts.filter(({ keyword }) => pattern?.test(keyword)).map(({ text }) => text);
    return firstNonEmpty(
      carriesExif ? [] : textsOf(exif[EXIF_FIELD_BY_XMP_TAG[tag] ?? '']),
      textsOf(iptc[IPTC_FIELD_BY_XMP_TAG[tag] ?? '']),
      textsOf(matchingTexts),
    );
  };
}

function firstNonEmpty(...lists: string[][]): string[] {
  return lists.find((list) => list.length > 0) ?? [];
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
