import type { Metadata } from 'sharp';
import { escaped, printable } from '../markup.ts';
import { holdsPicture } from './embedded-pictures.ts';
import { iptcOf } from './iptc.ts';
import type { Plain } from './plain.ts';
import { readTags } from './tags.ts';

/** The rights fields of a file: the EXIF fields unchanged, and an XMP document with only the rights fields. */
interface Rights {
  fields: Record<string, string>;
  xmp: string | undefined;
  /** Copyright notice and by-line as IPTC, for a file that has them as IPTC. */
  iptc: Buffer | undefined;
}

type Tags = Record<string, Plain>;

/** EXIF fields about rights. */
const EXIF_FIELDS = ['Copyright', 'Artist'];

/** XMP fields about rights, each in the shape of its schema: one text, one text in several languages, or a list. */
const XMP_FIELDS: readonly (readonly [name: string, tag: string, shape: 'text' | 'Alt' | 'Seq' | 'Bag'])[] = [
  ['dc:rights', 'rights', 'Alt'],
  ['dc:creator', 'creator', 'Seq'],
  ['xmpRights:Marked', 'Marked', 'text'],
  ['xmpRights:WebStatement', 'WebStatement', 'text'],
  ['xmpRights:Certificate', 'Certificate', 'text'],
  ['xmpRights:UsageTerms', 'UsageTerms', 'Alt'],
  ['xmpRights:Owner', 'Owner', 'Bag'],
];
/** IPTC fields that replace absent XMP ones. They are written as XMP, because every format can carry it. */
const IPTC_FIELDS: Record<string, string> = { rights: 'Copyright Notice', creator: 'By-line' };

/** Reads the rights fields of a file. */
export function rightsOf(input: Uint8Array<ArrayBuffer>, header: Metadata): Rights {
  const { exif = {}, xmp = {}, iptc = {} } = readTags(input, header);
  const fields = EXIF_FIELDS.flatMap((name) => textsOf(exif[name]).map((text) => [name, text] as const));
  return {
    fields: Object.fromEntries(fields),
    xmp: documentOf(xmp, iptc),
    iptc: iptcOf(textsOf(iptc['By-line']), textsOf(iptc['Copyright Notice'])),
  };
}

function documentOf(xmp: Tags, iptc: Tags): string | undefined {
  const elements = XMP_FIELDS.map(([name, tag, shape]) => {
    const texts = textsOf(xmp[tag] ?? iptc[IPTC_FIELDS[tag] ?? '']);
    return texts.length === 0 ? '' : `<${name}>${shaped(texts, shape)}</${name}>`;
  }).join('');
  if (elements === '') return undefined;
  return [
    '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">',
    '<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"',
    ` xmlns:xmpRights="http://ns.adobe.com/xap/1.0/rights/">${elements}</rdf:Description></rdf:RDF></x:xmpmeta>`,
  ].join('');
}

/** The texts in the shape of their field. The languages are unknown, so the first text is the default for all. */
function shaped(texts: string[], shape: 'text' | 'Alt' | 'Seq' | 'Bag'): string {
  const items = texts.map((text) => escaped(printable(text)));
  const [first = ''] = items;
  if (shape === 'text') return first;
  if (shape === 'Alt') return `<rdf:Alt><rdf:li xml:lang="x-default">${first}</rdf:li></rdf:Alt>`;
  return `<rdf:${shape}>${items.map((item) => `<rdf:li>${item}</rdf:li>`).join('')}</rdf:${shape}>`;
}

/** The texts of a tag that holds one or a list. A picture that was written as text is left out. */
function textsOf(value: Plain | undefined): string[] {
  const values = Array.isArray(value) ? value : [value];
  return values.filter(
    (one): one is string => typeof one === 'string' && one.trim() !== '' && !holdsPicture(one),
  );
}
