import type { KernelEnum, Sharp } from 'sharp';
import type { Rgba } from './colour/colour.ts';
import { openPixels } from './input.ts';
import { comesTooLate, type Slot } from './order.ts';
import { type BlendMode, blend } from './pixels/blend.ts';
import { blurredSmall, blurredWhole, reductionFor } from './pixels/gaussian.ts';
import { assertSize, type Box, intersect, type Size, scaledBy } from './pixels/geometry.ts';
import { cut } from './pixels/paint.ts';
import { framesOf, joinFrames, type Pixels, pixelsOf, withAlphaOf, withoutAlpha } from './pixels/pixels.ts';
import { enlarged, sampled } from './pixels/resample.ts';

/** What is known of a picture beside its pixels; width and height are of one frame, upright. */
export interface PictureFacts extends Size {
  frames: number;
  hasAlpha: boolean;
  /** Whether its pipeline still has to turn it upright. */
  oriented: boolean;
  /** Whether its pixels are RGB of 8 bits; grey ones, and those of 16 bits, take other colours and numbers. */
  isPlain: boolean;
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
    this.#timeout = timeout;
    this.#fromFile = fromFile;
  }

  static fromPixels(pixels: Pixels, timeout: () => number): Picture {
    const facts = { ...pixels, hasAlpha: pixels.channels === 4, oriented: false, isPlain: true };
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

  /**
   * The pipeline, ready for a call that works at `slot`, up to and including `last` where the call takes several. A
   * pipeline that is past the slot is run first.
   */
  async at(slot: Slot, last: Slot = slot): Promise<Sharp> {
    if (comesTooLate(slot, this.#used, this.hasAlpha)) await this.pixels();
    this.#used.add(slot).add(last);
    return this.#pipeline;
  }

  /** Scales to exactly this size. */
  async scaleTo(size: Size, kernel: keyof KernelEnum = 'lanczos3'): Promise<void> {
    if (size.width === this.width && size.height === this.height) return;
    assertSize(size, this.frames);
    if (kernel === 'nearest') return this.replace(sampled(await this.pixels(), size));
    // In one strip, the edges of frames run into each other. Enlarged, that shows; made smaller, it is a tenth of the
    // contrast in one row of pixels, and taking the frames apart would cost three times the time.
    if (this.frames > 1 && size.height > this.height)
      return this.eachFrame((frame) => frame.scaleTo(size, kernel));
    if (size.width > this.width || size.height > this.height) return this.#enlargeTo(size, kernel);
    (await this.at('scale')).resize({ ...size, fit: 'fill', kernel });
    this.#resized(size);
  }

  /** Makes the picture smaller in linear light, as optics do: fine patterns keep their brightness. */
  async scaleLinear({ width, height }: Size, kernel: keyof KernelEnum = 'lanczos3'): Promise<void> {
    const size = { width: Math.min(width, this.width), height: Math.min(height, this.height) };
    if (size.width === this.width && size.height === this.height) return;
    const { data, frames, ...raw } = await this.pixels();
    const strip = { width: raw.width, height: raw.height * frames, channels: raw.channels };
    const pipeline = openPixels({ data, ...strip, frames: 1 })
      .pipelineColourspace('scrgb')
      .resize({ width: size.width, height: size.height * frames, fit: 'fill', kernel })
      .timeout({ seconds: this.#timeout() });
    this.replace(await pixelsOf(pipeline, frames));
  }

  /** Scales to a size that is larger on an axis or both, after what becomes smaller on the other. */
  async #enlargeTo(size: Size, kernel: Exclude<keyof KernelEnum, 'nearest'>): Promise<void> {
    const { width, height } = this;
    await this.scaleTo({ width: Math.min(width, size.width), height: Math.min(height, size.height) }, kernel);
    this.replace(enlarged(await this.pixels(), size, kernel, this.lookAtClock));
  }

  /** Cuts out a box, which must lie within the picture. */
  async cropTo({ left, top, width, height }: Box): Promise<void> {
    if (width === this.width && height === this.height) return;
    // sharp turns before it scales when a box is cut as well, and would decode every pixel: cut the small result instead.
    if (this.#used.has('scale')) await this.turnUpright();
    (await this.at(this.#used.has('scale') ? 'crop' : 'extract')).extract({ left, top, width, height });
    this.#resized({ width, height });
  }

  /** Scales to cover this size and cuts off what is least interesting. The picture must not move. */
  async scaleToInteresting(
    size: Size,
    strategy: 'attention' | 'entropy',
    kernel?: keyof KernelEnum,
  ): Promise<void> {
    assertSize(size);
    const factor = Math.max(size.width / this.width, size.height / this.height);
    if (factor > 1) await this.scaleTo(scaledBy(this, factor), kernel);
    (await this.at('scale', 'smartCrop')).resize({
      ...size,
      fit: 'cover',
      position: strategy,
      ...(kernel && { kernel }),
    });
    this.#resized(size);
  }

  /** Adds room around the picture. */
  async pad(
    room: { top: number; right: number; bottom: number; left: number },
    background: Rgba,
    extendWith: 'background' | 'copy' | 'repeat' | 'mirror' = 'background',
  ): Promise<void> {
    const size = { width: this.width + room.left + room.right, height: this.height + room.top + room.bottom };
    if (size.width === this.width && size.height === this.height) return;
    assertSize(size, this.frames);
    await this.makePlain();
    (await this.at('extend')).extend({ ...room, background, extendWith });
    this.#resized(size);
    this.mayTurnTransparent(background);
  }

  /** Blurs a picture of one frame by a Gaussian. */
  async blur(sigma: number): Promise<void> {
    const factor = reductionFor(this, sigma);
    if (factor === 1) blurredWhole(await this.at('blur', 'linear'), sigma);
    else this.replace(await blurredSmall(await this.pixels(), sigma, factor, this.lookAtClock));
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
    if (!this.#fromFile || (this.writtenIn !== undefined && this.writtenIn !== 'b-w')) return;
    this.writtenIn = this.writtenIn === 'b-w' ? 'grey16' : 'rgb16';
  }

  /** Notes that a background was painted. */
  mayTurnTransparent(background: Rgba): void {
    this.hasAlpha ||= background.alpha < 1;
  }

  /** Notes that width and height changed places. */
  swapSides(): void {
    this.#resized({ width: this.height, height: this.width });
  }

  /** Turns the picture upright now, for a step that sharp would do to it as it is stored. */
  async turnUpright(): Promise<void> {
    if (this.#oriented) await this.pixels();
  }

  /** Notes a size that libvips decides: about this, at most this. */
  becomesAbout(size: Size): void {
    assertSize(size, this.frames);
    this.#resized(size);
    this.#guessed = true;
  }

  /** Makes the size known. */
  async settle(): Promise<void> {
    if (this.#guessed) await this.pixels();
  }

  /** Sees to it that steps find RGB pixels of 8 bits. */
  async makePlain(): Promise<void> {
    if (!this.#isPlain) await this.pixels();
  }

  #resized({ width, height }: Size): void {
    this.width = width;
    this.height = height;
  }

  /** Lays an RGBA picture over every frame; what reaches beyond is cut off. */
  async overlay(
    layer: Pixels,
    at: { left: number; top: number },
    mode: BlendMode | 'over' = 'over',
  ): Promise<void> {
    const seen = intersect({ ...at, width: layer.width, height: layer.height }, this);
    if (seen === undefined) return;
    const part = cut(layer, { ...seen, left: seen.left - at.left, top: seen.top - at.top });
    if (mode !== 'over') return this.#blend(part, seen, mode);
    const { data, width, height, channels } = part;
    const image = {
      input: Buffer.from(data.buffer),
      raw: { width, height, channels },
      left: seen.left,
    };
    const tops = Array.from({ length: this.frames }, (_, frame) => seen.top + frame * this.height);
    const pipeline = (await this.at('composite')).composite(tops.map((top) => ({ ...image, top })));
    // What is laid on an opaque picture leaves it opaque, but sharp adds the channel.
    if (!this.hasAlpha) {
      pipeline.removeAlpha();
      this.#used.add('removeAlpha');
    }
  }

  async #blend(layer: Pixels, at: Box, mode: BlendMode): Promise<void> {
    const { hasAlpha } = this;
    const whole = await this.pixels('rgba');
    for (const frame of framesOf(whole)) blend(frame, layer, at, mode, this.lookAtClock);
    if (!hasAlpha) this.replace(withoutAlpha(whole));
  }

  /**
   * Runs the pipeline. The picture goes on from the answered pixels, so they may be changed in place, before anything else
   * is done to the picture.
   * @param as 'rgba' adds an opaque alpha channel where there is none.
   */
  async pixels(as?: 'rgba'): Promise<Pixels> {
    if (as === 'rgba') (await this.at('ensureAlpha')).ensureAlpha();
    const pixels = await pixelsOf(this.#pipeline.timeout({ seconds: this.#timeout() }), this.frames);
    this.replace(pixels);
    return pixels;
  }

  /** Goes on from other pixels of as many frames. */
  replace(pixels: Pixels): void {
    this.#pipeline = openPixels(pixels);
    this.#used.clear();
    this.#oriented = false;
    this.#isPlain = true;
    this.#guessed = false;
    this.#fromFile = false;
    this.#resized(pixels);
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
    return this.#pipeline.timeout({ seconds: this.#timeout() });
  }
}
