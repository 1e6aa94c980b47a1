// needs: nothing
import fc from 'fast-check';
import sharp from 'sharp';
import t from 'tap';
import { describeImage } from '../../../workers/image/metadata/metadata.ts';
import { carriedXmp, xmpText } from '../../../workers/image/metadata/xmp.ts';
import { caseFile, needsCases } from '../../support/cases.ts';
import { mutationsOf } from '../formats/mutations.ts';
import { made, passOf } from './passes.ts';

const corpus = needsCases(t);
const RDF = 'http://www.w3.org/1999/02/22-rdf-syntax-ns#';

/** A packet with properties as attributes and as elements. */
function packetOf(namespaces: Record<string, string>, attributes: string, elements: string): Buffer {
  const declared = Object.entries(namespaces).map(([prefix, uri]) => ` xmlns:${prefix}="${uri}"`);
  return Buffer.from(
    `<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="${RDF}"><rdf:Description rdf:about=""${declared.join('')} ${attributes}>${elements}</rdf:Description></rdf:RDF></x:xmpmeta>`,
  );
}

/** The tags of a packet as another reader tells them. */
async function tagsOf(packet: string) {
  const create = { width: 8, height: 8, channels: 3, background: '#369' } as const;
  const told = await describeImage(new Uint8Array(await sharp({ create }).withXmp(packet).png().toBuffer()));
  return told.kind === 'described' ? told.metadata.xmp : undefined;
}

function rewritten(packet: Uint8Array, movesPixels: boolean): string | undefined {
  const kept = carriedXmp(packet, { movesPixels });
  return kept && xmpText(kept);
}
const moved = (packet: Uint8Array) => rewritten(packet, true);

/** Properties that are true of the original alone, by namespace; the prefixes are not the usual ones. */
const STALE: readonly (readonly [namespace: string, ...names: string[]])[] = [
  [
    'http://ns.adobe.com/tiff/1.0/',
    'Orientation',
    'ImageWidth',
    'ImageLength',
    'BitsPerSample',
    'YCbCrSubSampling',
  ],
  ['http://ns.adobe.com/exif/1.0/', 'PixelXDimension', 'PixelYDimension', 'SubjectArea'],
  ['http://ns.adobe.com/xap/1.0/', 'Thumbnails'],
  ['http://ns.adobe.com/hdr-gain-map/1.0/', 'Version', 'GainMapMax', 'HDRCapacityMin'],
  ['http://ns.apple.com/HDRGainMap/1.0/', 'HDRGainMapVersion'],
  [
    'http://ns.google.com/photos/1.0/camera/',
    'MicroVideo',
    'MicroVideoOffset',
    'MotionPhoto',
    'MotionPhotoVersion',
  ],
  ['http://ns.google.com/photos/1.0/container/', 'Directory'],
  ['http://ns.google.com/photos/1.0/depthmap/', 'Data', 'Near'],
  ['http://ns.google.com/photos/1.0/image/', 'Data', 'Mime'],
  ['http://ns.google.com/photos/dd/1.0/device/', 'Container'],
  ['http://ns.xiaomi.com/photos/1.0/camera/', 'XMPMeta'],
  ['http://ns.adobe.com/xmp/note/', 'HasExtendedXMP'],
  ['http://purl.org/dc/elements/1.1/', 'format'],
  ['http://www.metadataworkinggroup.com/schemas/regions/', 'Regions'],
  ['http://ns.google.com/photos/1.0/panorama/', 'FullPanoWidthPixels', 'CroppedAreaLeftPixels'],
];

for (const [namespace, ...names] of STALE) {
  t.test(`facts of the original go: ${names} of ${namespace}`, async (t) => {
    const own = { p: namespace, o: 'http://example.com/other/' };
    const forms: Record<string, Buffer> = {
      attributes: packetOf(own, names.map((name) => `p:${name}="6"`).join(' '), '<o:kept>yes</o:kept>'),
      elements: packetOf(own, 'o:kept="yes"', names.map((name) => `<p:${name}>6</p:${name}>`).join('\n')),
      'elements with more in them': packetOf(
        own,
        'o:kept="yes"',
        names
          .map(
            (name) =>
              `<p:${name} rdf:parseType="Resource"><o:part>6</o:part><rdf:Seq><rdf:li>6</rdf:li></rdf:Seq></p:${name}>`,
          )
          .join(''),
      ),
      'a namespace of its own in each': packetOf(
        {},
        'rdf:ID="x"',
        names.map((name) => `<${name} xmlns="${namespace}">6</${name}>`).join('') +
          '<o:kept xmlns:o="http://example.com/other/">yes</o:kept>',
      ),
    };
    for (const [form, packet] of Object.entries(forms)) {
      const carried = moved(packet) ?? '';
      for (const name of names) t.notMatch(carried, new RegExp(`\\b${name}\\b`), `${form}: ${name}`);
      t.notMatch(carried, /6/, form);
      t.match(carried, /yes/, `${form}: the rest stays`);
    }
  });
}

t.test('what describes the picture stays as it is', async (t) => {
  const namespaces = {
    dc: 'http://purl.org/dc/elements/1.1/',
    tiff: 'http://ns.adobe.com/tiff/1.0/',
    exif: 'http://ns.adobe.com/exif/1.0/',
    xmp: 'http://ns.adobe.com/xap/1.0/',
    pano: 'http://ns.google.com/photos/1.0/panorama/',
  };
  const attributes =
    'tiff:Make="A &amp; B &lt;&quot;&#39;" exif:FNumber="28/10" xmp:Rating="5" xmp:Label="two&#10;lines" pano:ProjectionType="equirectangular"';
  const elements =
    '<dc:title><rdf:Alt><rdf:li xml:lang="x-default">Größe &amp; <![CDATA[<☃>]]></rdf:li></rdf:Alt></dc:title><tiff:Artist>Jane</tiff:Artist>';
  const carried = moved(packetOf(namespaces, attributes, elements)) ?? '';
  t.match(await tagsOf(carried), {
    Make: 'A & B <"\'',
    FNumber: '28/10',
    Rating: '5',
    ProjectionType: 'equirectangular',
    title: ['Größe & <☃>'],
    Artist: 'Jane',
  });
  t.match(carried, /two&#10;lines/);
  t.match(carried, /xml:lang="x-default"/);
});

t.test('places stay where no pixel is moved', async (t) => {
  const regions = packetOf(
    { mwg: 'http://www.metadataworkinggroup.com/schemas/regions/' },
    '',
    '<mwg:Regions>a face</mwg:Regions>',
  );
  t.match(rewritten(regions, false), /a face/);
  t.notMatch(moved(regions), /a face/);
});

t.test('crops and retouched places of a raw picture stay where no pixel is moved', async (t) => {
  const developed = packetOf(
    { crs: 'http://ns.adobe.com/camera-raw-settings/1.0/' },
    'crs:Version="15.4" crs:Exposure2012="+0.50" crs:HasCrop="True" crs:CropTop="0.1" crs:CropAngle="2"',
    '<crs:RetouchInfo><rdf:Seq><rdf:li>centerX = 0.29, centerY = 0.33, radius = 0.02</rdf:li></rdf:Seq></crs:RetouchInfo><crs:MaskGroupBasedCorrections><rdf:Seq><rdf:li crs:What="Correction"/></rdf:Seq></crs:MaskGroupBasedCorrections>',
  );
  const places = /HasCrop|CropTop|CropAngle|centerX|Correction/g;
  t.equal((rewritten(developed, false) ?? '').match(places)?.length, 7);
  const carried = moved(developed) ?? '';
  t.notMatch(carried, places);
  t.match(carried, /Exposure2012="\+0\.50"/);
});

t.test('an entry of a list goes with the facts that were all it held, and so does its list', async (t) => {
  const namespaces = { s: 'http://ns.adobe.com/tiff/1.0/', o: 'http://example.com/other/' };
  const lists = [
    '<rdf:li rdf:parseType="Resource"><s:Orientation>6</s:Orientation></rdf:li>',
    '<rdf:li> <rdf:Description s:ImageWidth="6"/> </rdf:li>',
    '<rdf:li s:ImageLength="6"/>',
    '<rdf:li><rdf:Seq><rdf:li s:Orientation="6"/></rdf:Seq></rdf:li>',
    '<rdf:li>data:image/jpeg;base64,/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAMCAgICAgMCAgIDAwMDBAYEBAQEBAgGBgUGCQgK</rdf:li>',
  ];
  for (const list of [...lists, lists.join('\n')]) {
    const elements = `<o:gone><rdf:Seq>${list}</rdf:Seq></o:gone><o:left><rdf:Bag>${list}<rdf:li s:Orientation="6" o:kept="yes"/></rdf:Bag></o:left><o:empty><rdf:Bag/></o:empty>`;
    const carried = moved(packetOf(namespaces, '', elements)) ?? '';
    t.notMatch(carried, /o:gone|6|9j/, list);
    t.equal(carried.match(/<rdf:li/g)?.length, 1, list);
    t.match(
      carried,
      /<o:left><rdf:Bag>\s*<rdf:li o:kept="yes"\/><\/rdf:Bag><\/o:left><o:empty><rdf:Bag\/><\/o:empty>/,
    );
  }
  const alone = moved(packetOf(namespaces, 's:Orientation="6"', '')) ?? '';
  t.match(alone, /<rdf:RDF[^>]*><\/rdf:RDF><\/x:xmpmeta>$/, 'the frame of the packet stays');
});

t.test('a packet is carried with its frame and without its padding', async (t) => {
  const body = packetOf({ o: 'http://example.com/other/' }, 'o:kept="yes"', '').toString();
  const framed = `\uFEFF<?xpacket begin="\uFEFF" id="W5M0MpCehiHzreSzNTczkc9d"?>\n${body}\n${' '.repeat(2_000)}<?xpacket end="w"?>\0\0`;
  const carried = moved(Buffer.from(framed)) ?? '';
  t.match(
    carried,
    /^<\?xpacket begin="\uFEFF" id="W5M0MpCehiHzreSzNTczkc9d"\?><x:xmpmeta.*<\?xpacket end="w"\?>$/s,
  );
  t.notMatch(carried, / {10}/);
});

t.test('a packet that does not parse is dropped', async (t) => {
  const whole = packetOf({ o: 'http://example.com/other/' }, 'o:kept="yes"', '').toString();
  const broken = {
    'cut short': whole.slice(0, -5),
    'an unbound prefix': whole.replace('xmlns:o=', 'xmlns:q='),
    'an entity': `<!DOCTYPE x [<!ENTITY e "text">]>${whole.replace('yes', '&e;')}`,
    'two roots': whole + whole,
    'no XML': 'Lorem ipsum',
    nothing: '',
  };
  for (const [name, packet] of Object.entries(broken)) t.equal(moved(Buffer.from(packet)), undefined, name);
  t.equal(moved(Buffer.from(whole, 'utf16le')), undefined, 'another encoding');
  t.equal(moved(Buffer.alloc(2 * 1024 * 1024, ' ')), undefined, 'too long');
  t.equal(moved(Buffer.from('<a>'.repeat(30_000) + '</a>'.repeat(30_000))), undefined, 'too deep');
});

t.test('whatever a packet says, what comes out is a packet that stays the same', async (t) => {
  const elements = '<g:Thumbnails><rdf:li>/9j/</rdf:li></g:Thumbnails><g:Label>a &amp; b</g:Label>';
  const file = packetOf({ g: 'http://ns.adobe.com/xap/1.0/' }, 'g:Rating="5"', elements);
  const offsets = [...file.entries()].filter(([, byte]) => byte === 0x3c).map(([at]) => at);
  const property = fc.property(mutationsOf([{ name: 'packet', file, offsets }]), ({ file }) => {
    const carried = moved(file);
    if (carried !== undefined) return moved(Buffer.from(carried)) === carried;
    return true;
  });
  t.equal(fc.check(property, { numRuns: 300 }).counterexample, null);
});

t.test('the orientation of the cases is not in the result', corpus, async (t) => {
  const file = caseFile('jpeg-xmp-orientation.jpg');
  for (const format of ['jpeg', 'png', 'webp', 'avif', 'tiff'] as const) {
    const { data, width, height } = await made(
      file,
      passOf([['resize', { width: 50 }]], { format, metadata: 'keep' }),
    );
    t.same([width, height], [50, 100], format);
    const { xmp, orientation = 1 } = await sharp(data).metadata();
    t.equal(orientation, 1, format);
    t.ok(xmp !== undefined && !xmp.includes('Orientation'), format);
  }
});
