import type { Encode, Pass } from '../../../workers/protocol.ts';

/** The settings of a result, once for each format that it may have. */
export function encodesOf({ formats, ...encode }: Encode): Encode[] {
  return formats === undefined ? [encode] : formats.map((format) => ({ ...encode, format }));
}

/** A pass, once for each format that its result may have. */
export function passesOf(pass: Pass): Pass[] {
  return encodesOf(pass.encode).map((encode) => ({ ...pass, encode }));
}
