/**
 * Bytes that can be handed to a thread without a copy: they own the whole of their memory. Others are copied once.
 * Bytes that were handed over must not be touched again.
 */
export function ownedBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return ownsItsBuffer(bytes) ? bytes : new Uint8Array(bytes);
}

function ownsItsBuffer(bytes: Uint8Array): bytes is Uint8Array<ArrayBuffer> {
  return bytes.buffer instanceof ArrayBuffer && bytes.byteLength === bytes.buffer.byteLength;
}
