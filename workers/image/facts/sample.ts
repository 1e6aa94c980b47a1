/** Raw pixels of 8 bits in sRGB (three channels, or four with alpha). */
export interface Sample {
  data: Uint8Array<ArrayBufferLike>;
  width: number;
  height: number;
  channels: 3 | 4;
}
