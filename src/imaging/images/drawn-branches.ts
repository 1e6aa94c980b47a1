import { ApiError } from '../../platform/http/errors/errors.ts';
import type { BranchCall, BranchResult, RunningCall, TransformCall, TransformResult } from './image-call.ts';
import { isStoredFile } from './source.ts';

/** Runs passes over a vector drawing one after another, because each pass needs the drawing in a size of its own. */
export function runPassesOverDrawing(
  { branches, ...call }: BranchCall,
  transform: (call: TransformCall) => RunningCall<TransformResult>,
): RunningCall<BranchResult> {
  const works: RunningCall<TransformResult>[] = [];
  const drawAll = async () => {
    const outputs: (TransformResult | ApiError)[] = [];
    for (const branch of branches) {
      const work = transform({ ...call, ...branch, ...copiedFiles(call) });
      works.push(work);
      outputs.push(await work.result.catch(asOutput));
    }
    return joined(outputs);
  };
  const result = drawAll();
  const ended = result.then(ignore, ignore).then(async () => {
    await Promise.all(works.map((work) => work.ended));
  });
  return { result, ended };
}

/** Copies the files of a call for one piece of work, which takes over their bytes. */
function copiedFiles({ bytes, layers }: Pick<BranchCall, 'bytes' | 'layers'>) {
  const copyOf = (file: BranchCall['bytes']) => (isStoredFile(file) ? file : new Uint8Array(file));
  const copies = Object.entries(layers ?? {}).map(([id, layer]) => [
    id,
    { ...layer, bytes: copyOf(layer.bytes) },
  ]);
  return { bytes: copyOf(bytes), ...(layers !== undefined && { layers: Object.fromEntries(copies) }) };
}

function ignore(): void {}

/** Returns the error of one output. An error that concerns the whole call is thrown. */
function asOutput(error: unknown): ApiError {
  if (error instanceof ApiError && error.status < 500) return error;
  throw error;
}

/** The results of several passes as one. */
function joined(outputs: (TransformResult | ApiError)[]): BranchResult {
  const timings = { decodeMs: 0, processMs: 0, encodeMs: 0 };
  let queueMs = 0;
  for (const output of outputs) {
    if (output instanceof ApiError) continue;
    queueMs += output.queueMs;
    for (const part of ['decodeMs', 'processMs', 'encodeMs'] as const) timings[part] += output.timings[part];
  }
  return { outputs, timings, queueMs };
}
