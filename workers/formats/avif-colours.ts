import { isoBrands } from './boxes.ts';
import type { Bytes } from './bytes.ts';
import type { CodePoints } from './code-points.ts';
import { heifMeta, heifProperties, heifReferences, primaryItem } from './heif.ts';

/** The meaning of the colours of an AVIF's still picture. */
export interface AvifColours {
  /** Absent if the picture has a profile, which wins over code points. */
  codePoints?: CodePoints;
  /** Whether its colours are multiplied by alpha (MIAF, ISO/IEC 23000-22, section 7.3.5.2). */
  isPremultiplied: boolean;
}

/** Bytes of the type of a colour, and of primaries and transfer. */
const CODE_POINTS_BYTES = 8;

/** Reads what an AVIF says of its colours; undefined for any other file, and one without a still picture. */
export function avifColours(bytes: Bytes): AvifColours | undefined {
  if (isoBrands(bytes).length === 0) return undefined;
  const meta = heifMeta(bytes);
  const id = meta && primaryItem(bytes, meta);
  if (meta === undefined || id === undefined) return undefined;
  const references = [...heifReferences(bytes, meta)];
  const isPremultiplied = references.some(({ type, from }) => type === 'prem' && from === id);
  let codePoints: CodePoints | undefined;
  for (const { type, start, end } of heifProperties(bytes, meta, id)) {
    if (type !== 'colr') continue;
    if (bytes.text(start, 4) !== 'nclx') return { isPremultiplied };
    if (start + CODE_POINTS_BYTES > end) continue;
    codePoints = { primaries: bytes.u16(start + 4), transfer: bytes.u16(start + 6) };
  }
  return { isPremultiplied, ...(codePoints !== undefined && { codePoints }) };
}
