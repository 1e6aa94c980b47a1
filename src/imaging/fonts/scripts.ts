/**
 * Sample letters of each script. A font supports a script if it has all of the letters. A few are enough, because fonts
 * cover a script or leave it out.
 */
const LETTERS: Readonly<Record<string, string>> = {
  Latin: 'AZazéñ',
  Greek: 'ΑΩαω',
  Cyrillic: 'АЯая',
  Armenian: 'ԱՖաֆ',
  Georgian: 'აჰ',
  Hebrew: 'את',
  Arabic: 'ابي',
  Devanagari: 'अह',
  Bengali: 'অহ',
  Gurmukhi: 'ਅਹ',
  Gujarati: 'અહ',
  Tamil: 'அஹ',
  Telugu: 'అహ',
  Kannada: 'ಅಹ',
  Malayalam: 'അഹ',
  Sinhala: 'අහ',
  Thai: 'กฮ',
  Lao: 'ກຮ',
  Khmer: 'កហ',
  Myanmar: 'ကဟ',
  Ethiopic: 'ሀፈ',
  Hiragana: 'あん',
  Katakana: 'アン',
  Han: '一国語',
  Hangul: '가힣',
  Emoji: '😀🎉🚀',
};

const SCRIPTS = Object.entries(LETTERS).map(([script, letters]) => {
  return { script, codePoints: Array.from(letters, (letter) => letter.codePointAt(0) ?? 0) };
});

type Ranges = ReadonlyArray<readonly [first: number, last: number]>;

/** The Unicode names of the scripts that ranges of code points cover, and `Emoji`. */
export function scriptsCoveredBy(ranges: Ranges): string[] {
  const has = (codePoint: number) => ranges.some(([first, last]) => first <= codePoint && codePoint <= last);
  return SCRIPTS.filter(({ codePoints }) => codePoints.every(has)).map(({ script }) => script);
}
