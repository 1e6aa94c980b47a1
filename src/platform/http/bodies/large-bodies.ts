import { setImmediate as nextTurn } from 'node:timers/promises';
import { PacedWork } from '../../queues.ts';
import {
  BACKSLASH,
  CLOSE_LIST,
  CLOSE_OBJECT,
  COMMA,
  checkJsonInSlices,
  emptyBodyError,
  malformedJsonError,
  OPEN_LIST,
  OPEN_OBJECT,
  parseJsonText,
  QUOTE,
} from './json.ts';

/** Parsing may block the event loop for this long at a time. A piece that takes longer is finished first. */
const PARSE_SLICE_MS = 5;

/**
 * Parses large JSON bodies one at a time per process. The event loop serves other calls between slices. A thread would
 * not help: copying its result takes longer than parsing, and cannot be done in slices.
 */
export class LargeBodyQueue {
  readonly #work = new PacedWork();

  /**
   * Parses a body when it is the owner's turn.
   * @throws ApiError as `parseJson` does.
   */
  async parse(owner: string, raw: Buffer): Promise<unknown> {
    const endTurn = await this.#work.takeTurn(owner);
    try {
      await runInSlices(checkJsonInSlices(raw));
      const body = await runInSlices(parseInSlices(raw));
      // The last piece may be a text of megabytes, so the handler's first checks run in a later turn of the event loop.
      await nextTurn();
      return body;
    } finally {
      // The turn ends only after the handler has validated this body and made its first checks. The pause that follows
      // is a multiple of the turn, so it accounts for them too.
      setImmediate(endTurn);
    }
  }
}

/**
 * Runs a generator that yields where it may be interrupted. It pauses whenever the generator has used up its slice of
 * time.
 */
async function runInSlices<T>(work: Generator<void, T>): Promise<T> {
  let startedMs = performance.now();
  for (let step = work.next(); ; step = work.next()) {
    if (step.done === true) return step.value;
    if (performance.now() - startedMs < PARSE_SLICE_MS) continue;
    await nextTurn();
    startedMs = performance.now();
  }
}

/** Size in bytes of the pieces in which a larger list or object is parsed. */
const JSON_PIECE_BYTES = 64 * 1024;
/** Number of bytes that are scanned before the event loop serves other calls. */
const SCAN_SLICE_BYTES = 512 * 1024;

/** A list or an object whose end is not reached yet. */
interface OpenContainer {
  openedAt: number;
  /** The entries parsed so far. */
  value: unknown[] | Record<string, unknown>;
  /** Start of the part that is not parsed yet. */
  pieceAt: number;
  /** The start of the last entry of the list or object. */
  entryAt: number;
  /** Whether a part of the list or object is already parsed. */
  isCut: boolean;
  /** Whether `pieceAt` is directly after an entry that was parsed in pieces. */
  isBehindEntry: boolean;
}

/**
 * Parses JSON text like `parseJson`, but in pieces, and yields between them. The text must be within the limits of
 * `checkJsonInSlices`.
 * @throws ApiError invalid_param on `body`, as `parseJson` does.
 */
function* parseInSlices(raw: Buffer): Generator<void, unknown> {
  const startsAt = raw.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)
    ? BYTE_ORDER_MARK.length
    : 0;
  const open: OpenContainer[] = [];
  let root: { value: unknown; endsAt: number } | undefined;
  let isInString = false;
  let yieldsAt = SCAN_SLICE_BYTES;
  for (let index = startsAt; index < raw.length; index += 1) {
    if (index >= yieldsAt) {
      yieldsAt = index + SCAN_SLICE_BYTES;
      yield;
    }
    const byte = raw[index] as number;
    if (isInString) {
      if (byte === BACKSLASH) index += 1;
      else if (byte === QUOTE) isInString = false;
    } else if (byte === QUOTE) isInString = true;
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) open.push(openContainer(byte === OPEN_LIST, index));
    else if (byte === COMMA) {
      const inner = open.at(-1);
      if (inner === undefined) continue;
      if (inner.isBehindEntry || index - inner.pieceAt >= JSON_PIECE_BYTES) {
        addEntryText(raw, inner, index);
        inner.pieceAt = index + 1;
        inner.isBehindEntry = false;
        yield;
      }
      inner.entryAt = index + 1;
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
      const inner = open.pop();
      if (inner === undefined || Array.isArray(inner.value) !== (byte === CLOSE_LIST))
        throw unexpectedTokenError(raw, index);
      if (!inner.isCut && index - inner.openedAt < JSON_PIECE_BYTES) continue;
      addLastPiece(raw, inner, index);
      yield;
      const { value } = inner;
      const outer = open.at(-1);
      if (outer !== undefined) addParsedEntry(raw, outer, inner.openedAt, index + 1, value);
      else if (root !== undefined) throw unexpectedTokenError(raw, inner.openedAt);
      else {
        if (!isOnlyWhitespace(raw, startsAt, inner.openedAt)) throw unexpectedTokenError(raw, startsAt);
        root = { value, endsAt: index + 1 };
      }
    }
  }
  if (open.length > 0) throw malformedJsonError('Unexpected end of JSON input');
  if (root === undefined) return parseSmallJson(raw, startsAt);
  if (!isOnlyWhitespace(raw, root.endsAt, raw.length)) throw unexpectedTokenError(raw, root.endsAt);
  return root.value;
}

const BYTE_ORDER_MARK = Buffer.from('\ufeff');

function openContainer(isList: boolean, openedAt: number): OpenContainer {
  const inside = openedAt + 1;
  const value = isList ? [] : {};
  return { openedAt, value, pieceAt: inside, entryAt: inside, isCut: false, isBehindEntry: false };
}

/** Parses a text without a large list or object. */
function parseSmallJson(raw: Buffer, startsAt: number): unknown {
  if (isOnlyWhitespace(raw, startsAt, raw.length)) throw emptyBodyError();
  return parseJsonText(raw.toString('utf8', startsAt));
}

/** Parses the entries from `pieceAt` to `to`, and adds them to their list or object. */
function addEntryText(raw: Buffer, into: OpenContainer, to: number): void {
  const from = into.pieceAt;
  const isEmpty = isOnlyWhitespace(raw, from, to);
  if (isEmpty !== into.isBehindEntry) throw unexpectedTokenError(raw, from);
  into.isCut = true;
  if (isEmpty) return;
  const text = raw.toString('utf8', from, to);
  if (Array.isArray(into.value)) {
    for (const entry of parseJsonText(`[${text}]`, from - 1) as unknown[]) into.value.push(entry);
  } else Object.assign(into.value, parseJsonText(`{${text}}`, from - 1));
}

/** Adds the last entries before the end of a list or object. */
function addLastPiece(raw: Buffer, into: OpenContainer, to: number): void {
  const isEmpty = !into.isCut && isOnlyWhitespace(raw, into.pieceAt, to);
  if (!isEmpty) addEntryText(raw, into, to);
}

/** Adds a list or an object that was parsed in pieces, with the entries before it. */
function addParsedEntry(raw: Buffer, into: OpenContainer, from: number, to: number, value: unknown): void {
  if (into.isBehindEntry) throw unexpectedTokenError(raw, from);
  if (into.entryAt > into.pieceAt) addEntryText(raw, into, into.entryAt - 1);
  if (Array.isArray(into.value)) {
    if (!isOnlyWhitespace(raw, into.entryAt, from)) throw unexpectedTokenError(raw, from);
    into.value.push(value);
  } else {
    const before = raw.toString('utf8', into.entryAt, from);
    const [name] = Object.keys(parseJsonText(`{${before}null}`, into.entryAt - 1) as object);
    if (name === undefined) throw unexpectedTokenError(raw, from);
    into.value[name] = value;
  }
  into.pieceAt = to;
  into.entryAt = to;
  into.isCut = true;
  into.isBehindEntry = true;
}

function isOnlyWhitespace(raw: Buffer, from: number, to: number): boolean {
  for (let index = from; index < to; index += 1) if (!isWhitespace(raw[index])) return false;
  return true;
}

/** Whether JSON allows a byte between its tokens. A comparison costs a tenth of a search in a buffer of four bytes. */
function isWhitespace(byte: number | undefined): boolean {
  return byte === SPACE || byte === TAB || byte === LINE_FEED || byte === CARRIAGE_RETURN;
}

const SPACE = 0x20;
const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** The error about the first character, at or after a position, that is not whitespace. */
function unexpectedTokenError(raw: Buffer, from: number): Error {
  let index = from;
  while (isWhitespace(raw[index])) index += 1;
  const [character] = raw.toString('utf8', index, index + 4);
  return malformedJsonError(`Unexpected token '${character}' in JSON at byte ${index}`);
}
