import { jsonRequestBody, type RequestBody, randomText } from './transport.ts';

/** A reference to an image: an asset of the account, or a public http(s) URL. */
export type ImageReference = { assetId: string } | { url: string | URL };

/**
 * The bytes of an image. A stream, or the body of a response, can be sent only once, so a call that sends one is not
 * retried.
 */
export type ImageBytes =
  | Blob
  | Response
  | Uint8Array
  | ArrayBuffer
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>;

export type ImageInput = ImageReference | ImageBytes;

/** A second picture that a step of the call reads, such as an overlay. */
export type SecondPicture = Blob | Uint8Array | ArrayBuffer;

/**
 * Whether an input is a reference to an image. A Response, or an incoming request of Node, has a `url` too, but
 * contains bytes.
 */
export function isImageReference(input: ImageInput): input is ImageReference {
  const hasBytes = input instanceof Response || Symbol.asyncIterator in input;
  return !hasBytes && ('assetId' in input || 'url' in input);
}

export function referenceFields(input: ImageReference): Record<string, string> {
  return 'assetId' in input ? { assetId: input.assetId } : { url: String(input.url) };
}

/**
 * The body of a call with one image. Bytes of a known type are sent as they are. Other bytes are sent as the file of a
 * multipart form, and the service detects their type.
 * @param fields further fields, which are sent in the JSON or in the form.
 */
export function imageRequestBody(
  input: ImageInput,
  fields: Record<string, unknown> = {},
  layer?: SecondPicture,
): RequestBody {
  if (isImageReference(input)) {
    if (layer === undefined) return jsonRequestBody({ ...referenceFields(input), ...fields });
    throw new TypeError('Send the bytes of both pictures, or name the layer by layerAssetId or layerUrl.');
  }
  const texts = Object.entries(fields).map(([name, value]): [string, string] => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
  const sent = sendableBytesOf(input);
  const second = layer === undefined ? undefined : toBlob(layer);
  if (isStream(sent)) return streamedFormBody(sent, texts, second);
  const blob = toBlob(sent);
  const isOnlyImage = texts.length === 0 && second === undefined;
  if (isOnlyImage && blob.type.startsWith('image/')) return { type: blob.type, data: blob };
  const form = new FormData();
  for (const [name, text] of texts) form.set(name, text);
  form.set('file', blob, fileNameOf(blob));
  if (second !== undefined) form.set('layer', second, fileNameOf(second));
  return { data: form };
}

/** The body of a call with two images: JSON if both are references, or a form if both are bytes. */
export async function imagePairRequestBody(one: ImageInput, other: ImageInput): Promise<RequestBody> {
  if (isImageReference(one) && isImageReference(other)) {
    const second = Object.entries(referenceFields(other));
    const renamed = second.map(([name, value]) => [`other${name[0]?.toUpperCase()}${name.slice(1)}`, value]);
    return jsonRequestBody({ ...referenceFields(one), ...Object.fromEntries(renamed) });
  }
  if (isImageReference(one) || isImageReference(other))
    throw new TypeError('Send both images as bytes, or name both by assetId or url.');
  const form = new FormData();
  for (const [name, input] of Object.entries({ file: one, other })) {
    const sent = sendableBytesOf(input);
    const blob = isStream(sent) ? await new Response(toWebStream(sent)).blob() : toBlob(sent);
    form.set(name, blob, fileNameOf(blob));
  }
  return { data: form };
}

type ByteStream = ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

type SendableBytes = Exclude<ImageBytes, Response>;

function sendableBytesOf(input: ImageBytes): SendableBytes {
  return input instanceof Response ? (input.body ?? new Uint8Array()) : input;
}

function isStream(input: SendableBytes): input is ByteStream {
  return input instanceof ReadableStream || Symbol.asyncIterator in input;
}

function toBlob(input: Exclude<SendableBytes, ByteStream>): Blob {
  return input instanceof Blob ? input : new Blob([input as ArrayBuffer]);
}

function fileNameOf(blob: Blob): string {
  return (blob as Partial<File>).name || 'image';
}

/** A multipart form whose file is a stream (RFC 7578). FormData cannot contain streams. */
function streamedFormBody(file: ByteStream, texts: readonly [string, string][], layer?: Blob): RequestBody {
  const boundary = randomText();
  const partHead = (name: string, rest: string) =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}"${rest}\r\n\r\n`;
  const fields = texts.map(([name, text]) => `${partHead(name, '')}${text}\r\n`);
  const fileHead = (name: string) =>
    partHead(name, '; filename="image"\r\ncontent-type: application/octet-stream');
  const encoder = new TextEncoder();
  async function* parts() {
    yield encoder.encode(fields.join('') + fileHead('file'));
    yield* chunksFrom(file);
    if (layer !== undefined) {
      yield encoder.encode(`\r\n${fileHead('layer')}`);
      yield* chunksFrom(layer.stream());
    }
    yield encoder.encode(`\r\n--${boundary}--\r\n`);
  }
  return { type: `multipart/form-data; boundary=${boundary}`, data: toWebStream(parts()) };
}

/** The chunks of a stream. The for-await loop does not work on a ReadableStream in every browser. */
async function* chunksFrom(stream: ByteStream): AsyncGenerator<Uint8Array> {
  if (!(stream instanceof ReadableStream)) {
    yield* stream;
    return;
  }
  const reader = stream.getReader();
  try {
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) yield chunk.value;
  } finally {
    await reader.cancel();
  }
}

function toWebStream(stream: ByteStream): ReadableStream<Uint8Array> {
  if (stream instanceof ReadableStream) return stream;
  const chunks = stream[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await chunks.return?.();
    },
  });
}
