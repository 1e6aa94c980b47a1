import type { Sharp } from 'sharp';
import type { Size } from '../formats/size.ts';
import { openPixelPipeline, toSrgb } from './input.ts';
import { needsNextPipeline, type PipelineSlot, SLOTS_IN_OUTPUT_COLOUR_SPACE } from './pipeline-slots.ts';
import { assertWithinSizeLimits, TURNS_BY_ORIENTATION } from './pixels/geometry.ts';
import {
  type DeepPixels,
  is16BitPixels,
  joinFrames,
  type Pixels,
  type Rgba,
  readDeepPixels,
  readPixels,
  replaceColours,
  splitFrames,
  withoutAlpha,
} from './pixels/pixels.ts';

/** What a pass knows about a picture before it is decoded. Width and height are those of one upright frame. */
interface PictureFacts extends Size {
  frames: number;
  hasAlpha: boolean;
  /** Whether the pipeline still has to turn the picture upright. */
  mustTurnUpright: boolean;
  /** Whether the pixels are 8-bit RGB. Other pixels (grey or 16-bit) need other colour values. */
  isPlain: boolean;
  /** Whether the pixels have 16 bits that can be kept. */
  is16Bit: boolean;
}

/**
 * A picture during a pass: a sharp pipeline that has not run yet, and the facts about its result. Steps are collected
 * in one pipeline as long as sharp runs them in the same order. A step that sharp would run before a collected one
 * starts a new pipeline, on the pixels of the previous one (see `at`). Nothing is encoded in between.
 */
export class PassPicture {
  width: number;
  height: number;
  readonly frames: number;
  hasAlpha: boolean;
  /** The colour space in which the result is written; undefined for 8-bit sRGB. */
  writtenIn: string | undefined;
  #pipeline: Sharp;
  #usedSlots = new Set<PipelineSlot>();
  #mustTurnUpright: boolean;
  /** Whether the size is an estimate until the pipeline has run. */
  #isSizeEstimated = false;
  #isPlain: boolean;
  #has16Bits: boolean;
  #fromFile: boolean;
  /** Whether the pixels at which the pipeline starts are those of the file. */
  #startsUnchanged: boolean;
  /** The pixels at which the pipeline starts; undefined while it starts at the file. */
  #pixels: Pixels | DeepPixels | undefined;
  /** Whether the pixels at which the pipeline starts are the picture already, so that it need not run. */
  #hasRun = false;
  readonly #secondsLeft: () => number;

  /**
   * @param secondsLeft returns the whole seconds that a pipeline started now may take; it throws when none are left.
   */
  constructor(pipeline: Sharp, facts: PictureFacts, secondsLeft: () => number, fromFile = true) {
    this.#pipeline = pipeline;
    this.width = facts.width;
    this.height = facts.height;
    this.frames = facts.frames;
    this.hasAlpha = facts.hasAlpha;
    this.#mustTurnUpright = facts.mustTurnUpright;
    this.#isPlain = facts.isPlain;
    this.#has16Bits = facts.is16Bit;
    this.#secondsLeft = secondsLeft;
    this.#fromFile = fromFile;
    this.#startsUnchanged = fromFile;
  }

  static fromPixels(pixels: Pixels, secondsLeft: () => number): PassPicture {
    const facts = {
      ...pixels,
      hasAlpha: pixels.channels === 4,
      mustTurnUpright: false,
      isPlain: true,
      is16Bit: false,
    };
    return new PassPicture(openPixelPipeline(pixels), facts, secondsLeft, false);
  }

  /** Throws when the deadline has passed. Work outside of a pipeline calls it from time to time. */
  readonly checkDeadline = (): void => {
    this.#secondsLeft();
  };

  /** Whether the pipeline still starts at the input file. An error of the pipeline is then a fault of the file. */
  get fromFile(): boolean {
    return this.#fromFile;
  }

  /** Whether no step has changed the picture: its pixels and their colour space are still those of the file. */
  get isUntouched(): boolean {
    return this.#startsUnchanged && this.#usedSlots.size === 0 && this.writtenIn === undefined;
  }

  /** Whether the pipeline has a call that works at this slot. */
  usesSlot(slot: PipelineSlot): boolean {
    return this.#usedSlots.has(slot);
  }

  /**
   * The pipeline, ready for a call that works at `slot`, or at all slots from `slot` to `last`. If the pipeline is past
   * the slot, it is run first.
   */
  async at(slot: PipelineSlot, last: PipelineSlot = slot): Promise<Sharp> {
    if (needsNextPipeline(slot, this.#usedSlots, this.hasAlpha)) await this.runPipeline();
    this.#usedSlots.add(slot).add(last);
    this.#hasRun = false;
    return this.#pipeline;
  }

  /** One pipeline per frame over the pixels of that frame. The pipelines only read. */
  async framePipelines(): Promise<Sharp[]> {
    return splitFrames(await this.pixels()).map(openPixelPipeline);
  }

  /** Converts to sRGB, if sharp worked in a wider colour space. */
  convertToSrgb(): void {
    toSrgb(this.#pipeline);
    this.#hasRun = false;
  }

  /** Lays the picture on a background colour. sharp decides when, so the caller must not depend on the order. */
  flattenAnytime(background: Rgba): void {
    this.#pipeline.flatten({ background });
    this.#hasRun = false;
    this.hasAlpha = false;
  }

  /** Writes a grey picture with one channel. Steps that address channels by number are run first. */
  async writeAsGrey(): Promise<void> {
    if (this.writtenIn !== undefined) return;
    if (SLOTS_IN_OUTPUT_COLOUR_SPACE.some((slot) => this.#usedSlots.has(slot))) await this.pixels();
    this.writtenIn = 'b-w';
  }

  /** Whether the result has 16 bits. */
  get isDeep(): boolean {
    return this.writtenIn === 'grey16' || this.writtenIn === 'rgb16';
  }

  /** Writes 16 bits if the picture has them and no step worked on 8 bits. */
  writeAs16Bits(): void {
    if (!this.#has16Bits || (this.writtenIn !== undefined && this.writtenIn !== 'b-w')) return;
    this.writtenIn = this.writtenIn === 'b-w' ? 'grey16' : 'rgb16';
  }

  recordBackground(background: Rgba): void {
    this.hasAlpha ||= background.alpha < 1;
  }

  setSize({ width, height }: Size): void {
    this.width = width;
    this.height = height;
  }

  /** Turns the picture upright now. Otherwise sharp would apply the next step before it turns the picture. */
  async turnUpright(): Promise<void> {
    if (this.#mustTurnUpright) await this.runPipeline();
  }

  /** Records an estimated size. libvips decides the exact size, which is at most this large. */
  setEstimatedSize(size: Size): void {
    assertWithinSizeLimits(size, this.frames);
    this.setSize(size);
    this.#isSizeEstimated = true;
  }

  /** Runs the pipeline if the size is only an estimate. */
  async computeExactSize(): Promise<void> {
    if (this.#isSizeEstimated) await this.runPipeline();
  }

  /** Converts the picture to 8-bit RGB pixels, unless it has such pixels already. */
  async convertToPlainPixels(): Promise<void> {
    if (!this.#isPlain) await this.pixels();
  }

  /**
   * Runs the pipeline, unless it has run, and returns its pixels. The picture continues from these pixels, so the
   * caller may change them in place before anything else happens to the picture.
   * @param as 'rgba' adds an opaque alpha channel if there is none.
   */
  async pixels(as?: 'rgba'): Promise<Pixels> {
    if (as === 'rgba') (await this.at('ensureAlpha')).ensureAlpha();
    if (this.#hasRun && this.#pixels !== undefined && !is16BitPixels(this.#pixels)) return this.#pixels;
    const pixels = await readPixels(this.#withTimeout(this.#pipeline), this.frames);
    this.replace(pixels);
    return pixels;
  }

  /** Runs the pipeline and continues from its result, as `pixels` does, but keeps 16 bits if the picture has them. */
  async runPipeline(): Promise<Pixels | DeepPixels> {
    if (!this.#has16Bits) return this.pixels();
    if (this.#hasRun && this.#pixels !== undefined) return this.#pixels;
    const pixels = await readDeepPixels(this.#withTimeout(this.#pipeline));
    this.replace(pixels);
    return pixels;
  }

  /** Continues from other pixels with the same number of frames. */
  replace(pixels: Pixels | DeepPixels): void {
    this.#pipeline = openPixelPipeline(pixels);
    this.#pixels = pixels;
    // Grey pixels must run through the pipeline once, which turns them into RGB.
    this.#hasRun = pixels.channels !== 1;
    this.#usedSlots.clear();
    this.#mustTurnUpright = false;
    this.#has16Bits = is16BitPixels(pixels);
    this.#isPlain = !this.#has16Bits;
    this.#isSizeEstimated = false;
    this.#fromFile = false;
    this.#startsUnchanged = false;
    this.setSize(pixels);
    this.hasAlpha = pixels.channels === 4;
  }

  /**
   * Continues from pixels of another pass.
   * @param areShared whether more passes read the pixels, so that they must outlive this picture.
   */
  continueFrom(pixels: Pixels, areShared: boolean): void {
    this.replace(pixels);
    if (areShared) this.#pixels = undefined;
  }

  /**
   * Starts at pixels that were decoded from the same file before. They may be a smaller version: the picture keeps its
   * size, and the first step scales it.
   */
  startAt(pixels: Pixels, areShared: boolean): void {
    const { width, height } = this;
    this.continueFrom(pixels, areShared);
    this.setSize({ width, height });
    this.#hasRun = false;
    this.#startsUnchanged = true;
  }

  /** Works on each frame as if it were a separate picture. Every frame must end with the same size. */
  async eachFrame(work: (frame: PassPicture) => Promise<void>): Promise<void> {
    const strip = await this.pixels();
    const done: Pixels[] = [];
    for (const frame of splitFrames(strip)) {
      const picture = PassPicture.fromPixels(frame, this.#secondsLeft);
      await work(picture);
      done.push(await picture.pixels());
    }
    this.replace(joinFrames(done));
  }

  /** Turns every frame upright by the EXIF orientation of its file. */
  async turnFrames(orientation: number): Promise<void> {
    const { mirrored = false, angle = 0 } = TURNS_BY_ORIENTATION[orientation] ?? {};
    await this.eachFrame(async (frame) => {
      const pipeline = await frame.at('mirror', 'turn');
      pipeline.flop(mirrored).rotate(angle);
    });
  }

  /** Works on the colours without the alpha channel, because sharp would change it as well, and then restores it. */
  async workOnColours(work: () => Promise<void>): Promise<void> {
    if (!this.hasAlpha) return work();
    const rgba = await this.pixels();
    if (rgba.channels !== 4) return work();
    this.replace(withoutAlpha(rgba));
    await work();
    this.replace(replaceColours(rgba, await this.pixels()));
  }

  /**
   * Frees the pixels once the picture has been written. If they were left to the garbage collector, they would cause
   * full collections.
   */
  freePixels(): void {
    this.#pixels?.data.buffer.transfer(0);
  }

  /** The finished pipeline, to which the encoder is added. */
  finish(): Sharp {
    if (this.writtenIn !== undefined) this.#pipeline.toColourspace(this.writtenIn);
    return this.#withTimeout(this.#pipeline);
  }

  /**
   * A separate pipeline over other pixels, for steps, which do not load sharp themselves. It fails when the deadline
   * has passed.
   */
  pipelineOver(pixels: Pixels | DeepPixels): Sharp {
    return this.#withTimeout(openPixelPipeline(pixels));
  }

  #withTimeout(pipeline: Sharp): Sharp {
    return pipeline.timeout({ seconds: this.#secondsLeft() });
  }
}
