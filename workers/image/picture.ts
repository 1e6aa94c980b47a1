import type { Sharp } from 'sharp';
import type { Rgba } from './colour/colour.ts';
import { openPixels } from './input.ts';
import { comesTooLate, type Slot } from './order.ts';
import { assertSize, type Size } from './pixels/geometry.ts';
import {
  type DeepPixels,
  deepPixelsOf,
  framesOf,
  isDeep,
  joinFrames,
  type Pixels,
  pixelsOf,
  withAlphaOf,
  withoutAlpha,
} from './pixels/pixels.ts';

/** What is known of a picture beside its pixels; width and height are of one frame, upright. */
export interface PictureFacts extends Size {
  frames: number;
  hasAlpha: boolean;
  /** Whether its pipeline still has to turn it upright. */
  oriented: boolean;
  /** Whether its pixels are RGB of 8 bits; grey ones, and those of 16 bits, take other colours and numbers. */
  isPlain: boolean;
  /** Whether they have 16 bits that are worth keeping. */
  is16Bit: boolean;
}

/** What sharp does after it has taken the colour space that is written. */
const BY_CHANNEL: readonly Slot[] = ['joinChannel', 'boolean', 'bandbool', 'tint', 'extractChannel'];

/**
 * A picture on its way through a pass: a sharp pipeline that has not run yet, and what is known of its result. Steps are
 * gathered in one pipeline for as long as sharp's order is theirs; a step that would come too early for it starts a new
 * pipeline on the pixels of the one before (`at`). Nothing is encoded in between.
 */
export class Picture {
  width: number;
  height: number;
  readonly frames: number;
  hasAlpha: boolean;
  /** The colour space that the result is written in. */
  writtenIn: string | undefined;
  #pipeline: Sharp;
  #used = new Set<Slot>();
  #oriented: boolean;
  /** Whether the size is a guess until the pipeline has run. */
  #guessed = false;
  #isPlain: boolean;
  #has16Bits: boolean;
  #fromFile: boolean;
  readonly #timeout: () => number;

  /** @param timeout answers the whole seconds that a pipeline started now may take. */
  constructor(pipeline: Sharp, facts: PictureFacts, timeout: () => number, fromFile = true) {
    this.#pipeline = pipeline;
    this.width = facts.width;
    this.height = facts.height;
    this.frames = facts.frames;
    this.hasAlpha = facts.hasAlpha;
    this.#oriented = facts.oriented;
    this.#isPlain = facts.isPlain;
    this.#has16Bits = facts.is16Bit;
    this.#timeout = timeout;
    this.#fromFile = fromFile;
  }

  static fromPixels(pixels: Pixels, timeout: () => number): Picture {
    const facts = {
      ...pixels,
      hasAlpha: pixels.channels === 4,
      oriented: false,
      isPlain: true,
      is16Bit: false,
    };
    return new Picture(openPixels(pixels), facts, timeout, false);
  }

  /** Throws when nobody waits for the picture any more: for work that no pipeline does. */
  readonly lookAtClock = (): void => {
    this.#timeout();
  };

  /** Whether the pipeline still starts at the input file: its errors are the file's, and its metadata is at hand. */
  get fromFile(): boolean {
    return this.#fromFile;
  }

  /** Whether no step has done anything to it: its pixels and their colour space are still those of the file. */
  get isUntouched(): boolean {
    return this.#fromFile && this.#used.size === 0 && this.writtenIn === undefined;
  }

  /** Whether the pipeline has a call that works at this slot. */
  uses(slot: Slot): boolean {
    return this.#used.has(slot);
  }

  /**
   * The pipeline, ready for a call that works at `slot`, up to and including `last` where the call takes several. A
   * pipeline that is past the slot is run first.
   */
  async at(slot: Slot, last: Slot = slot): Promise<Sharp> {
    if (comesTooLate(slot, this.#used, this.hasAlpha)) await this.handOver();
    this.#used.add(slot).add(last);
    return this.#pipeline;
  }

  /** Every frame's pixels as a pipeline of its own, for looking only. */
  async frameByFrame(): Promise<Sharp[]> {
    return framesOf(await this.pixels()).map(openPixels);
  }

  /** Writes sRGB, where sharp worked in a wider space. */
  convertToSrgb(): void {
    this.#pipeline.withIccProfile('srgb', { attach: false });
  }

  /** Lays the picture on a colour, wherever in its order the pipeline does that: for when no step minds. */
  flattenAnytime(background: Rgba): void {
    this.#pipeline.flatten({ background });
    this.hasAlpha = false;
  }

  /** Writes one channel, of a picture that is grey; what works on channels by their number is done before. */
  async writeGrey(): Promise<void> {
    if (this.writtenIn !== undefined) return;
    if (BY_CHANNEL.some((slot) => this.#used.has(slot))) await this.pixels();
    this.writtenIn = 'b-w';
  }

  /** Whether 16 bits are written. */
  get isDeep(): boolean {
    return this.writtenIn === 'grey16' || this.writtenIn === 'rgb16';
  }

  /** Writes 16 bits, of a picture that has them and went through no step that works on 8. */
  writeDeep(): void {
    if (!this.#has16Bits || (this.writtenIn !== undefined && this.writtenIn !== 'b-w')) return;
    this.writtenIn = this.writtenIn === 'b-w' ? 'grey16' : 'rgb16';
  }

  /** Notes that a background was painted. */
  mayTurnTransparent(background: Rgba): void {
    this.hasAlpha ||= background.alpha < 1;
  }

  /** Notes the size that the step makes. */
  becomes({ width, height }: Size): void {
    this.width = width;
    this.height = height;
  }

  /** Notes that width and height changed places. */
  swapSides(): void {
    this.becomes({ width: this.height, height: this.width });
  }

  /** Turns the picture upright now, for a step that sharp would do to it as it is stored. */
  async turnUpright(): Promise<void> {
    if (this.#oriented) await this.handOver();
  }

  /** Notes a size that libvips decides: about this, at most this. */
  becomesAbout(size: Size): void {
    assertSize(size, this.frames);
    this.becomes(size);
    this.#guessed = true;
  }

  /** Makes the size known. */
  async settle(): Promise<void> {
    if (this.#guessed) await this.handOver();
  }

  /** Sees to it that steps find RGB pixels of 8 bits. */
  async makePlain(): Promise<void> {
    if (!this.#isPlain) await this.pixels();
  }

  /**
   * Runs the pipeline. The picture goes on from the answered pixels, so they may be changed in place, before anything else
   * is done to the picture.
   * @param as 'rgba' adds an opaque alpha channel where there is none.
   */
  async pixels(as?: 'rgba'): Promise<Pixels> {
    if (as === 'rgba') (await this.at('ensureAlpha')).ensureAlpha();
    const pixels = await pixelsOf(this.#timed(this.#pipeline), this.frames);
    this.replace(pixels);
    return pixels;
  }

  /** Runs the pipeline and goes on from what it made, as `pixels` does, with the 16 bits that the picture may have. */
  async handOver(): Promise<Pixels | DeepPixels> {
    if (!this.#has16Bits) return this.pixels();
    const pixels = await deepPixelsOf(this.#timed(this.#pipeline));
    this.replace(pixels);
    return pixels;
  }

  /** Goes on from other pixels of as many frames. */
  replace(pixels: Pixels | DeepPixels): void {
    this.#pipeline = openPixels(pixels);
    this.#used.clear();
    this.#oriented = false;
    this.#has16Bits = isDeep(pixels);
    this.#isPlain = !this.#has16Bits;
    this.#guessed = false;
    this.#fromFile = false;
    this.becomes(pixels);
    this.hasAlpha = pixels.channels === 4;
  }

  /** Does something to each frame as if it were a picture of its own. Every frame must come out at the same size. */
  async eachFrame(work: (frame: Picture) => Promise<void>): Promise<void> {
    const strip = await this.pixels();
    const done: Pixels[] = [];
    for (const frame of framesOf(strip)) {
      const picture = Picture.fromPixels(frame, this.#timeout);
      await work(picture);
      done.push(await picture.pixels());
    }
    this.replace(joinFrames(done));
  }

  /** Does something to the colours that sharp would do to transparency as well, which stays as it was. */
  async coloursAlone(work: () => Promise<void>): Promise<void> {
    if (!this.hasAlpha) return work();
    const whole = await this.pixels();
    if (whole.channels !== 4) return work();
    this.replace(withoutAlpha(whole));
    await work();
    this.replace(withAlphaOf(whole, await this.pixels()));
  }

  /** The pipeline, for the encoder. */
  finish(): Sharp {
    if (this.writtenIn !== undefined) this.#pipeline.toColourspace(this.writtenIn);
    return this.#timed(this.#pipeline);
  }

  /** A pipeline of its own over other pixels, for steps: they do not load sharp. It ends when nobody waits for the picture any more. */
  pipelineOver(pixels: Pixels | DeepPixels): Sharp {
    return this.#timed(openPixels(pixels));
  }

  #timed(pipeline: Sharp): Sharp {
    return pipeline.timeout({ seconds: this.#timeout() });
  }
}
