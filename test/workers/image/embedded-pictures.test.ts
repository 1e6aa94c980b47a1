// needs: nothing
import sharp from 'sharp';
import t from 'tap';
import { containsPicture } from '../../../workers/image/metadata/embedded-pictures.ts';
import { readRights } from '../../../workers/image/metadata/rights.ts';
import { preview } from './previewed.ts';

const create = { width: 16, height: 12, channels: 3, background: '#369' } as const;

t.test('a picture is recognised in all the ways in which text holds bytes', async (t) => {
  const base64 = preview.toString('base64');
  const written: [name: string, block: string | Buffer][] = [
    ['base64', base64],
    ['base64 for addresses', preview.toString('base64url')],
    ['short lines', base64.replace(/.{3}/g, '$&\n')],
    ['UTF-16', Buffer.from(base64, 'utf16le')],
    ['base64 behind letters', `Thumbnail ${base64}`],
    ['hexadecimal', preview.toString('hex')],
    ...[1, 2, 3, 8].map((size): [string, string] => [
      `${size} bytes before it`,
      Buffer.concat([Buffer.alloc(size, 'Z'), preview]).toString('base64'),
    ]),
  ];
  for (const [name, block] of written) t.ok(containsPicture(block), name);
  const prose = 'A comment of many words, with a link: https://example.com/9j/a-long-path/of/many/parts. ';
  t.notOk(containsPicture(prose.repeat(50)));
  t.notOk(containsPicture(Buffer.alloc(3000, 'signature').toString('base64')));
});

t.test('a picture that is written as the text of a right is not carried', async (t) => {
  const text = preview.toString('base64');
  const packet = `<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:rights><rdf:Alt><rdf:li xml:lang="x-default">${text}</rdf:li></rdf:Alt></dc:rights><dc:creator><rdf:Seq><rdf:li>A. Example</rdf:li></rdf:Seq></dc:creator></rdf:Description></rdf:RDF></x:xmpmeta>`;
  const file = await sharp({ create })
    .withExif({ IFD0: { Artist: text, Copyright: '(c) Example' } })
    .withXmp(packet)
    .png()
    .toBuffer();
  const { fields, xmp } = readRights(new Uint8Array(file), await sharp(file).metadata(), 'png');
  t.same(fields, { Copyright: '(c) Example' });
  t.match(xmp?.descriptions.join(), 'A. Example');
  t.notMatch(xmp?.descriptions.join(), text.slice(0, 40));
});
