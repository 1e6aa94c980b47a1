interface WarningText {
  /** An entry of `X-Service-Warnings` with this code. */
  example: string;
  /** What happened, in one sentence. */
  meaning: string;
  /** What callers should do if they did not want this, in one sentence. */
  remedy: string;
}

/**
 * The warnings of the interface, by code. The documentation page about warnings and the description of their header are
 * made from these texts.
 */
export const WARNING_TEXTS = {
  ignored_parameter: {
    example: 'ignored_parameter:perpage',
    meaning: 'The endpoint does not read this field.',
    remedy: 'Send the field that `did_you_mean` names, or leave it out.',
  },
  did_you_mean: {
    example: 'did_you_mean:perPage',
    meaning: 'The entry before it probably means this field, with this value if there is one.',
    remedy: 'Send this field in place of the one before it.',
  },
  clamped: {
    example: 'clamped:wait',
    meaning: 'The value of this field is outside its bounds, and the nearest bound was used.',
    remedy: 'Send a value within the bounds.',
  },
  no_effect: {
    example: 'no_effect:quality',
    meaning: 'This field, or a step if none is named, changes nothing in the result.',
    remedy: 'Leave it out, or send a format or a value with which it has an effect.',
  },
  not_enlarged: {
    example: 'not_enlarged:768',
    meaning: 'The result is smaller than requested: it has this width or height in pixels.',
    remedy: 'Send `enlarge=true`, or a larger picture.',
  },
  enlarge_ignored: {
    example: 'enlarge_ignored',
    meaning: 'A resize cannot reach its size, because a step before it made the picture smaller.',
    remedy: 'Send one resize, or `enlarge=true`.',
  },
  resize_shadowed: {
    example: 'resize_shadowed',
    meaning: 'A resize has no effect, because a later step sets the size again.',
    remedy: 'Leave out the first resize.',
  },
  format_shadowed: {
    example: 'format_shadowed',
    meaning: 'A step sets the format, and a later step sets it again.',
    remedy: 'Set the format in the last step only.',
  },
  metadata_dropped: {
    example: 'metadata_dropped',
    meaning: 'The metadata cannot be kept, because the format of the result does not support it.',
    remedy: 'Ask for a format other than gif.',
  },
  alpha_lost: {
    example: 'alpha_lost',
    meaning: 'Transparent pixels became white, because the format of the result has no transparency.',
    remedy: 'Ask for png, webp or avif, or send `background`.',
  },
  frames_lost: {
    example: 'frames_lost:379',
    meaning: 'The result shows only the first frame of an animation. This many others are left out.',
    remedy: 'Ask for gif or webp and an op that keeps them, or choose one frame by `frame`.',
  },
  pages_lost: {
    example: 'pages_lost:3',
    meaning: 'The result shows only the first page, or picture, of the file. This many others are left out.',
    remedy: 'Make one call for each page, with its number from 0 in `frame`.',
  },
  text_cut: {
    example: 'text_cut:812x290',
    meaning: 'The text has this size in pixels, and a part of it is outside of the picture.',
    remedy: 'Send a smaller `size`, less text, or another place.',
  },
  layer_cut: {
    example: 'layer_cut:1200x900',
    meaning: 'The layer has this size in pixels, and a part of it is outside of the picture.',
    remedy: 'Send `scale`, or another place.',
  },
  layer_outside: {
    example: 'layer_outside:64x64',
    meaning: 'The layer has this size in pixels, and all of it is outside of the picture.',
    remedy: 'Send an `x` and a `y` within the picture, or a `position`.',
  },
  page_text_cut: {
    example: 'page_text_cut:The%20annual%20report',
    meaning: 'The text with this beginning is cut off, by its box or by the edge of the picture.',
    remedy: 'Send less text, or give it a smaller font or a larger box.',
  },
  larger_than_input: {
    example: 'larger_than_input',
    meaning: 'The file of the result is larger than the file that was sent, although it shows no more.',
    remedy: 'Use compress, or keep the file that was sent.',
  },
  search_cut_short: {
    example: 'search_cut_short',
    meaning:
      'A search for a size or a likeness had no time for all of its trials. The result is the best file that it found.',
    remedy: 'Send the call as a job, or send a smaller picture.',
  },
  format_not_tried: {
    example: 'format_not_tried:avif',
    meaning: 'There was no time to try this one of several formats.',
    remedy: 'Send the call as a job, or send fewer formats or a smaller picture.',
  },
  low_quality: {
    example: 'low_quality:fewer_frames',
    meaning: 'The file within `maxBytes` has a quality below 20, or fewer than 16 colours.',
    remedy: 'Allow more bytes, or follow the advice: `fewer_frames` or `smaller_picture`.',
  },
  first_frame_compared: {
    example: 'first_frame_compared',
    meaning: 'Only the first frame of an animation was compared.',
    remedy: 'Extract single frames by `frame`, and compare those.',
  },
  missing_glyph: {
    example: 'missing_glyph:1F389',
    meaning: 'No font has the character with this code point. A box, or nothing, was drawn instead.',
    remedy: 'Use another character, or declare a font in the page that has it.',
  },
  font_replaced: {
    example: 'font_replaced:Inter',
    meaning: 'The service does not have this font family, and used another one.',
    remedy: 'Use a family that GET /api/v1/fonts lists, or declare this one in the page.',
  },
  unknown_variable: {
    example: 'unknown_variable:titel',
    meaning: 'The row names a variable that the template does not have.',
    remedy: 'Correct its name.',
  },
  empty_variable: {
    example: 'empty_variable:subtitle',
    meaning: 'A placeholder stayed empty, because the row has no value for it.',
    remedy: 'Send a value, or declare the variable as optional.',
  },
  escaped_in_css: {
    example: 'escaped_in_css:font',
    meaning: 'The value of this variable is used in a style, where its escaped characters are not decoded.',
    remedy: 'Leave out quotes, `<` and `&`, or use the variable in an attribute.',
  },
  blocked_resource: {
    example: 'blocked_resource:https',
    meaning: 'The page refers to resources with this scheme. They are not loaded.',
    remedy: 'Upload them and refer to them as `asset://<assetId>`, or write `data:` URIs.',
  },
  missing_asset: {
    example: 'missing_asset:ast_000000000000000000000000',
    meaning: 'The page refers to an asset that the account does not have.',
    remedy: 'Use an id that GET /api/v1/assets lists.',
  },
  sandbox_model: {
    example: 'sandbox_model:sandbox-image',
    meaning: 'A model of the sandbox made this result. It is invented.',
    remedy: 'Name a model of a provider, if GET /api/v1/ai-models lists one.',
  },
  more: {
    example: 'more:12',
    meaning: 'There are this many further warnings.',
    remedy: 'Correct the named ones, and send the call again.',
  },
} as const satisfies Record<string, WarningText>;

/** The code of a warning: one of a closed set. */
export type WarningCode = keyof typeof WARNING_TEXTS;
export const WARNING_CODES = Object.keys(WARNING_TEXTS) as WarningCode[];
