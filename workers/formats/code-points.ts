/** The meaning of a file's colours as code points (ITU-T H.273): nclx in an AVIF, cICP in a PNG. */
export interface ColourCodePoints {
  primaries: number;
  transfer: number;
}
