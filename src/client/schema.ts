/**
 * The types of the interface, generated from the OpenAPI document of the service: npm run client:types. It is one
 * file of any length, because nobody edits it: a reader looks names up in it.
 */

/** Parameters that most ops take. */
export interface PassParameters {
  /** Colour under transparent pixels when the format has none, and of the area that the op adds. */
  background?: string;
  /**
   * Dots per inch at which a drawing (SVG) is drawn: 96, the default, draws a CSS pixel as one pixel. Without it, a
   * resize at the start draws in the size that it asks for.
   */
  density?: number;
  /**
   * How hard the encoder tries to make the file small, 0 fastest, 9 smallest. 4 for jpeg, 3 for webp and 0 for avif
   * (3 for a small drawing) when left out: more effort costs two to ten times the time for 5 to 15 % of the bytes.
   */
  effort?: number;
  /** Reads the first of so many frames. The time of frames that are left out goes to the frame before. */
  everyNth?: number;
  /**
   * Format of the result; the input's own when left out and it can be written, else png. 16-bit png and tiff keep
   * their bits through resize, crop, flip and turns by right angles; X-Service-Bit-Depth says what came out.
   */
  format?: "jpeg" | "png" | "webp" | "avif" | "gif" | "tiff";
  /**
   * Which frames are read: first, all, or one by its index from 0; all is the default when input and result can
   * both move.
   */
  frame?: "first" | "all" | number;
  /** The frames of an animation that are read, from and to their index from 0, both included; instead of frame. */
  frames?: string;
  /** Keep every pixel exactly; for webp and avif. */
  lossless?: boolean;
  /**
   * Reads at most so many frames of each second. The time of frames that are left out goes to the frame before.
   */
  maxFps?: number;
  /** Reads at most so many frames, the first that frames, everyNth and maxFps leave. */
  maxFrames?: number;
  /**
   * What stays of EXIF, XMP, IPTC and the ICC profile: strip (the default) nothing, keep everything but previews,
   * copyright the rights fields. IPTC stays in jpeg and tiff only; gif carries XMP alone.
   */
  metadata?: "strip" | "keep" | "copyright";
  /**
   * Quality of a lossy result; 80 for jpeg, 84 for webp and 67 for avif when left out; compress with ssimulacra2
   * finds the quality for one picture.
   */
  quality?: number;
}

/** The parameters of each op that runs while the caller waits. */
export interface Ops {
  adjust: PassParameters & {
    /** Factor; 1 changes nothing. */
    brightness?: number;
    /** Factor around mid gray; 1 changes nothing. */
    contrast?: number;
    /** Factor; 0 is gray, 1 changes nothing. */
    saturation?: number;
    /** Degrees around the colour wheel; 0 changes nothing. */
    hue?: number;
    /** Added to the lightness; 0 changes nothing. */
    lightness?: number;
    /** Lifts the dark tones; 1 changes nothing. */
    gamma?: number;
  };
  alpha: PassParameters & {
    /** What stays of the opacity: 0 is invisible, 1 changes nothing. */
    opacity: number;
  };
  blur: PassParameters & {
    /** Strength of the blur: the standard deviation in pixels. */
    sigma?: number;
  };
  border: PassParameters & {
    /** Thickness of the frame in pixels. */
    width: number;
    /** Colour of the frame. */
    color?: string;
    /** Radius of the outer corners as in round_corners; the inner ones follow it. */
    radius?: number | string;
  };
  compress: Omit<PassParameters, 'format'> & {
    /** One, or several (avif,webp): the smallest that keeps frames and transparency; X-Service-Format names it. */
    format?: "jpeg" | "png" | "webp" | "avif" | "gif" | "tiff" | ("jpeg" | "png" | "webp" | "avif" | "gif" | "tiff")[];
    /** Largest size of the result in bytes. */
    maxBytes?: number;
    /** Least SSIM (on luma); needs format. */
    minSsim?: number;
    /**
     * Least score of SSIMULACRA 2, which sees colours too (70 good, 80 very good, 90 hardly told apart); needs
     * format; 8 pixels per edge to 4 megapixels.
     */
    ssimulacra2?: number;
  };
  convert: Omit<PassParameters, 'format'> & {
    /** Format of the result. */
    format: "jpeg" | "png" | "webp" | "avif" | "gif" | "tiff";
    /**
     * Whether a jpeg, png or gif appears in passes while it loads; when left out, a jpeg of 40,000 pixels or more
     * does.
     */
    progressive?: boolean;
    /** Whether a png is reduced to a palette. */
    palette?: boolean;
    /** Size of the palette of a png or gif, rounded up to 2, 4, 16 or 256. */
    colors?: number;
    /** Chroma subsampling of a jpeg or avif; 4:4:4 keeps fine colour edges, and is taken from quality 90 on. */
    chroma?: "4:2:0" | "4:4:4";
  };
  crop: PassParameters & {
    /** Left edge of the rectangle in pixels; 0 when left out. */
    x?: number;
    /** Top edge of the rectangle in pixels; 0 when left out. */
    y?: number;
    /** Width of the rectangle in pixels; needs height. */
    width?: number;
    /** Height of the rectangle in pixels; needs width. */
    height?: number;
    /** Shape of the largest rectangle to keep, such as 16:9; instead of x, y, width and height. */
    aspect?: string;
    /**
     * With aspect, the part that is kept; center when left out. attention finds contrast and colour, not faces: for
     * those give a place, or focalX and focalY.
     */
    gravity?: "center" | "north" | "northeast" | "east" | "southeast" | "south" | "southwest" | "west" | "northwest" | "attention" | "entropy";
    /** The point to keep in view, as a share of the width from the left; instead of gravity. */
    focalX?: number;
    /** The point to keep in view, as a share of the height from the top; instead of gravity. */
    focalY?: number;
  };
  duotone: PassParameters & {
    /** Colour of the dark tones. */
    dark: string;
    /** Colour of the light tones. */
    light: string;
  };
  extract_channel: PassParameters & {
    /** The channel to show. */
    channel: "red" | "green" | "blue" | "alpha";
  };
  extract_frame: Omit<PassParameters, 'everyNth' | 'frame' | 'frames' | 'maxFps' | 'maxFrames'> & {
    /** Index of the frame, from 0. */
    frame?: number;
  };
  flatten: PassParameters;
  flip: PassParameters & {
    /** horizontal mirrors left and right, vertical mirrors top and bottom. */
    axis?: "horizontal" | "vertical" | "both";
  };
  grayscale: PassParameters;
  median: PassParameters & {
    /** Edge of the square that is looked at, in pixels. */
    size?: number;
  };
  negate: PassParameters;
  normalize: PassParameters & {
    /** Percentile of the brightness that becomes black. */
    lower?: number;
    /** Percentile of the brightness that becomes white; above lower. */
    upper?: number;
  };
  pad: PassParameters & {
    /** Pixels to add above. */
    top?: number;
    /** Pixels to add on the right. */
    right?: number;
    /** Pixels to add below. */
    bottom?: number;
    /** Pixels to add on the left. */
    left?: number;
    /** Pixels to add on every side; instead of naming sides. */
    all?: number;
    /** What fills the room: the background colour, the edge pixels, the picture again, or its mirror image. */
    mode?: "background" | "copy" | "repeat" | "mirror";
  };
  pixelate: PassParameters & {
    /** Edge of a block in pixels. */
    size?: number;
  };
  placeholder: PassParameters & {
    /** A small blurred copy, the average colour, or a coarse mosaic. */
    kind?: "blur" | "color" | "pixel";
  };
  redact: PassParameters & {
    /** The rectangles to cover, each {x, y, width, height} in pixels; JSON text in a query. */
    regions: {
      /** Left edge in pixels. */
      x: number;
      /** Top edge in pixels. */
      y: number;
      /** Width in pixels. */
      width: number;
      /** Height in pixels. */
      height: number;
    }[];
    /**
     * How rectangles are covered. Only fill is safe for text. blur and pixelate take rectangles less than 24 px
     * apart as one, keep one rough colour for each 96 px of an edge (at most 3 x 3), and fill what is narrower.
     */
    style?: "fill" | "blur" | "pixelate";
    /** Colour of the rectangles that are filled. */
    color?: string;
  };
  remove_alpha: PassParameters;
  resize: PassParameters & {
    /** Width in pixels; width, height or both are needed. */
    width?: number;
    /** Height in pixels; width, height or both are needed. */
    height?: number;
    /**
     * How the picture meets width and height: cover crops, contain pads, fill stretches, inside stays within,
     * outside reaches both.
     */
    fit?: "cover" | "contain" | "fill" | "inside" | "outside";
    /**
     * With fit cover or contain, the part that is kept or the place in the padding. attention finds contrast and
     * colour, not faces: for those give a place, or focalX and focalY.
     */
    gravity?: "center" | "north" | "northeast" | "east" | "southeast" | "south" | "southwest" | "west" | "northwest" | "attention" | "entropy";
    /** The point to keep in view, as a share of the width from the left; instead of gravity. */
    focalX?: number;
    /** The point to keep in view, as a share of the height from the top; instead of gravity. */
    focalY?: number;
    /** How pixels are weighed; nearest keeps hard edges, lanczos3 is the default. */
    kernel?: "nearest" | "linear" | "cubic" | "mitchell" | "lanczos2" | "lanczos3";
    /** Whether a picture smaller than asked for is scaled up. */
    enlarge?: boolean;
    /**
     * Whether the picture is made smaller in linear light, which keeps the brightness of fine patterns and takes
     * longer.
     */
    linear?: boolean;
    /** Screen pixels per pixel asked for: multiplies width and height. */
    dpr?: number;
  };
  rotate: PassParameters & {
    /** Degrees clockwise; a negative angle turns the other way. */
    angle: number;
  };
  round_corners: PassParameters & {
    /**
     * Radius in pixels, at most half of the shorter edge, or as a share of both edges up to 50%, which makes a
     * circle of a square.
     */
    radius: number | string;
  };
  sepia: PassParameters;
  sharpen: PassParameters & {
    /** Width of the edges that are sharpened, in pixels. */
    sigma?: number;
    /** Strength in flat areas. */
    flat?: number;
    /** Strength in detailed areas. */
    jagged?: number;
  };
  text: PassParameters & {
    /** What to write; line breaks are kept. */
    text: string;
    /** Family name of the font; a sans-serif one when left out. */
    font?: string;
    /** Height of the letters in pixels or as a share of the width, at most 1000 pixels. */
    size?: number | string;
    /** Colour of the letters. */
    color?: string;
    /** Position of the text; its lines are aligned with it. */
    position?: "center" | "north" | "northeast" | "east" | "southeast" | "south" | "southwest" | "west" | "northwest";
    /** Distance from the edges, in pixels or as a share of the shorter side. */
    margin?: number | string;
    /** How solid the letters are. */
    opacity?: number;
    /** Degrees clockwise that the text is turned. */
    rotate?: number;
  };
  threshold: PassParameters & {
    /** Brightness from which a pixel becomes white. */
    value?: number;
  };
  thumbnail: PassParameters & {
    /** Edge of the square in pixels. */
    size?: number;
    /**
     * Which part of the picture fills the square. attention finds contrast and colour, not faces: for those give a
     * place, or focalX and focalY.
     */
    gravity?: "center" | "north" | "northeast" | "east" | "southeast" | "south" | "southwest" | "west" | "northwest" | "attention" | "entropy";
  };
  tint: PassParameters & {
    /** The tone. */
    color: string;
  };
  trim: PassParameters & {
    /** How far a pixel may differ from the background and still be cut away. */
    threshold?: number;
  };
}

/** What a webhook endpoint receives. */
export type WebhookEvent = JobCompletedEvent | JobFailedEvent | JobItemCompletedEvent | JobItemFailedEvent | WebhookTestEvent;

/** The query of a list that is read page by page. */
export interface Paging {
  /** Page from 0; clamped. */
  page?: number;
  /** Rows per page, 1 to 100; clamped. */
  perPage?: number;
  /** nextCursor of the previous page, with the same filters; not together with page. */
  cursor?: string;
}

/** The calls that take and answer JSON, by their method and path. */
export interface Calls {
  'DELETE /api-keys/self': { data: undefined };
  'GET /api-keys': { data: ApiKey[] };
  'POST /api-keys': { body: NewApiKeyBody; data: NewApiKey };
  'DELETE /api-keys/{keyId}': { path: { keyId: string }; data: undefined };
  'POST /auth/sign-in': { body: SignInBody; data: SignedIn };
  'POST /auth/cookie': { body: SignInBody; data: CookieSession };
  'POST /auth/cookie/link': { body: LinkBody; data: CookieSession };
  'POST /auth/sign-out': { data: undefined };
  'GET /auth/sessions': { data: Session[] };
  'DELETE /auth/sessions/{sessionId}': { path: { sessionId: string }; data: undefined };
  'GET /account': { data: Account };
  'GET /requests': {
    query: Paging & {
      /** A status such as 404, or a class of them such as 4xx. */
      status?: string;
      /** Of the error. */
      errorCode?: "invalid_param" | "invalid_state" | "unsupported_format" | "unauthorized" | "insufficient_credit" | "forbidden" | "asset_not_found" | "job_not_found" | "preset_not_found" | "not_found" | "method_not_allowed" | "not_acceptable" | "idempotency_key_reuse" | "request_in_progress" | "subscription_not_actionable" | "payload_too_large" | "unsupported_media_type" | "asset_count_exceeded" | "resource_limit_exceeded" | "job_not_resumable" | "provider_rejected" | "rate_limited" | "service_misconfigured" | "internal_error" | "provider_unavailable";
      /** Calls of this name, such as `transformImage`. */
      operation?: string;
      /** Calls whose path begins so, such as `/api/v1/jobs`. */
      path?: string;
      /** Calls with this id. */
      requestId?: string;
      /** Calls with this key; `console` for those of console sessions. */
      apiKeyId?: string;
      /** Answered at or after: YYYY-MM-DD or an ISO-8601 instant (UTC). */
      from?: string;
      /** Answered before, in the same forms. */
      to?: string;
    };
    data: RequestRecord[];
  };
  'GET /requests/errors': {
    query: {
      /** A status such as 404, or a class of them such as 4xx. */
      status?: string;
      /** Of the error. */
      errorCode?: "invalid_param" | "invalid_state" | "unsupported_format" | "unauthorized" | "insufficient_credit" | "forbidden" | "asset_not_found" | "job_not_found" | "preset_not_found" | "not_found" | "method_not_allowed" | "not_acceptable" | "idempotency_key_reuse" | "request_in_progress" | "subscription_not_actionable" | "payload_too_large" | "unsupported_media_type" | "asset_count_exceeded" | "resource_limit_exceeded" | "job_not_resumable" | "provider_rejected" | "rate_limited" | "service_misconfigured" | "internal_error" | "provider_unavailable";
      /** Calls of this name, such as `transformImage`. */
      operation?: string;
      /** Calls whose path begins so, such as `/api/v1/jobs`. */
      path?: string;
      /** Calls with this id. */
      requestId?: string;
      /** Calls with this key; `console` for those of console sessions. */
      apiKeyId?: string;
      /** Answered at or after: YYYY-MM-DD or an ISO-8601 instant (UTC). */
      from?: string;
      /** Answered before, in the same forms. */
      to?: string;
    };
    data: RequestErrorGroup[];
  };
  'GET /requests/{requestId}': { path: { requestId: string }; data: RequestRecord };
  'GET /credits': { data: Credits };
  'GET /credits/ledger': { query: Paging; data: LedgerEntry[] };
  'GET /usage': {
    query: {
      /** YYYY-MM-DD or an ISO-8601 instant, rounded down to a whole minute; 30 days before `to` when left out. */
      from?: string;
      /**
       * YYYY-MM-DD or an ISO-8601 instant, rounded down to a whole minute; the end of the present minute when left
       * out.
       */
      to?: string;
      /** op (when left out), key or day. */
      groupBy?: "op" | "key" | "day";
    };
    data: Usage;
  };
  'GET /ops': {
    query: {
      /** names: the name, kind and description of each op alone. */
      view?: "names";
    };
    data: (OpDefinition | OpName)[];
  };
  'GET /ops/{op}': { path: { op: string }; data: OpDefinition };
  'GET /agent-guidelines': { data: Guidelines };
  'GET /ai-models': {
    query: {
      /** What the models make: images (the default), or JSON about an image. */
      mode?: "ai_image" | "analyze";
    };
    data: ModelDTO[];
  };
  'GET /feedback': { query: Paging; data: Feedback[] };
  'POST /feedback': { body: FeedbackRequest; data: Feedback };
  'POST /assets/upload': {
    query: {
      /** 1 to 64 characters; one that does not exist is created. */
      collection?: string;
      /** What downloads are called. */
      name?: string;
      /** true: the answer has the tags of the file; reading the asset always has. */
      metadata?: boolean;
      /** Measures the main colours, at most this many. */
      palette?: number;
    };
    body: UrlUpload;
    data: Asset | Uploaded;
  };
  'POST /assets': { body: Reservation; data: Reserved };
  'GET /assets': {
    query: Paging & {
      collection?: string;
      status?: "PENDING" | "DONE" | "FAILED";
      origin?: "upload" | "job";
      jobId?: string;
      /** An asset: lists those that look like it, nearest first, of those that the other filters select. */
      similarTo?: string;
      /** With similarTo: the most bits in which perceptual hashes may differ; default 6. */
      distance?: number;
    };
    data: ListedAsset[];
  };
  'PUT /assets/{assetId}/content': {
    path: { assetId: string };
    query: {
      owner?: string;
      expires?: string;
      signature?: string;
      /** true: the answer has the tags of the file; reading the asset always has. */
      metadata?: boolean;
      /** Measures the main colours, at most this many. */
      palette?: number;
    };
    data: Asset;
  };
  'POST /upload-tickets': { body: UploadTicketRequest; data: UploadTicket };
  'POST /upload-tickets/{assetId}': {
    path: { assetId: string };
    query: {
      contentTypes?: string;
      maxBytes?: string;
      owner?: string;
      expires?: string;
      signature?: string;
    };
    data: Asset;
  };
  'GET /assets/{assetId}': { path: { assetId: string }; data: Asset };
  'DELETE /assets/{assetId}': { path: { assetId: string }; data: undefined };
  'GET /assets/{assetId}/link': {
    path: { assetId: string };
    query: {
      /** How long the link is valid; default 300. */
      expiresInSeconds?: number;
      /** The former name of expiresInSeconds. */
      expiresIn?: number;
    };
    data: Link;
  };
  'GET /collections': { data: AssetCollection[] };
  'POST /collections': { body: NewCollection; data: AssetCollection };
  'DELETE /collections/{name}': { path: { name: string }; data: undefined };
  'GET /templates': {
    query: Paging & {
      filter?: "builtin" | "user";
    };
    data: TemplateSummary[];
  };
  'POST /templates': { body: NewTemplate; data: TemplateData };
  'POST /templates/import': { body: TemplateEntries; data: TemplateImport };
  'GET /templates/{templateId}': { path: { templateId: string }; data: TemplateData };
  'PUT /templates/{templateId}': { path: { templateId: string }; body: TemplateChange; data: TemplateData };
  'DELETE /templates/{templateId}': { path: { templateId: string }; data: undefined };
  'GET /templates/{templateId}/versions': { path: { templateId: string }; data: TemplateData[] };
  'GET /presets': {
    query: {
      filter?: "builtin" | "user";
      /** Whether rows carry their history. */
      includeVersions?: boolean;
    };
    data: PresetData[];
  };
  'POST /presets': { body: NewPreset; data: PresetData };
  'POST /presets/import': { body: PresetEntries; data: PresetImport };
  'GET /presets/{slug}': {
    path: { slug: string };
    query: {
      /** The same as slug@version; a positive integer. */
      version?: string;
    };
    data: PresetData;
  };
  'PUT /presets/{slug}': { path: { slug: string }; body: PresetChange; data: PresetData };
  'DELETE /presets/{slug}': { path: { slug: string }; data: undefined };
  'DELETE /presets/{slug}/versions/{version}': { path: { slug: string; version: string }; data: undefined };
  'POST /images/compare': {
    query: {
      /** Adds that score; for 8 pixels per edge to 4 megapixels. */
      ssimulacra2?: boolean;
    };
    body: CompareReference;
    data: Difference;
  };
  'POST /images/read-text': {
    query: {
      /** An installed language. */
      language?: "eng";
    };
    body: ImageReference;
    data: TextOfImage;
  };
  'POST /images/read-codes': { body: ImageReference; data: CodesOfImage };
  'POST /images/metadata': {
    query: {
      /** Measures the main colours, at most this many. */
      palette?: number;
    };
    body: ImageReference;
    data: ImageMetadata;
  };
  'GET /fonts': { data: FontFamily[] };
  'GET /signing-keys': { data: SigningKey[] };
  'POST /signing-keys': { body: NewSigningKeyBody; data: NewSigningKey };
  'DELETE /signing-keys/{keyId}': { path: { keyId: string }; data: undefined };
  'POST /delivery-links': { body: NewDeliveryLinks; data: DeliveryLinks };
  'GET /webhook-endpoints': { data: WebhookEndpoint[] };
  'POST /webhook-endpoints': { body: NewWebhookEndpoint; data: WebhookEndpointWithSecret };
  'GET /webhook-endpoints/{endpointId}': { path: { endpointId: string }; data: WebhookEndpoint };
  'PUT /webhook-endpoints/{endpointId}': {
    path: { endpointId: string };
    body: WebhookEndpointChange;
    data: WebhookEndpoint;
  };
  'DELETE /webhook-endpoints/{endpointId}': { path: { endpointId: string }; data: undefined };
  'POST /webhook-endpoints/{endpointId}/rotate-secret': {
    path: { endpointId: string };
    data: WebhookEndpointWithSecret;
  };
  'POST /webhook-endpoints/{endpointId}/test': { path: { endpointId: string }; data: Delivery };
  'GET /webhook-endpoints/{endpointId}/deliveries': {
    path: { endpointId: string };
    query: Paging & {
      /** DELIVERED and FAILED are final. */
      status?: "PENDING" | "DELIVERED" | "FAILED";
    };
    data: Delivery[];
  };
  'GET /webhook-endpoints/{endpointId}/deliveries/{deliveryId}': {
    path: { endpointId: string; deliveryId: string };
    data: DeliveryWithBody;
  };
  'POST /webhook-endpoints/{endpointId}/redeliver': {
    path: { endpointId: string };
    body: RedeliverBody;
    data: Redelivered;
  };
  'POST /webhook-endpoints/{endpointId}/deliveries/{deliveryId}/redeliver': {
    path: { endpointId: string; deliveryId: string };
    data: Delivery;
  };
  'GET /jobs': {
    query: Paging & {
      /** COMPLETED, FAILED and CANCELLED are final. */
      status?: "PENDING" | "PROCESSING" | "COMPLETED" | "FAILED" | "CANCELLED" | "CANCELLING";
      /** What kind of work it is; a chain has several segments. */
      type?: "ai-generate" | "ai-edit" | "parse" | "process" | "render" | "chain";
      /** Slug or id for every version, or slug@version. */
      preset?: string;
      /** Jobs that were submitted as this op. */
      op?: string;
      /** Every attempt of one job. */
      rootJobId?: string;
      /** At or after: epoch milliseconds, or an ISO-8601 date or instant (UTC). */
      createdFrom?: string;
      /** At or before, in the same forms; a bare date includes the whole day. */
      createdTo?: string;
      /** Names of fields, separated by commas: each job has only these then, also those that are always there. */
      fields?: string;
    };
    data: JobSummary[];
  };
  'POST /jobs': {
    query: {
      /** Checks and prices the job without creating it. */
      dryRun?: boolean;
      /** The same as dryRun. */
      dry_run?: boolean;
      /** Seconds to wait for the end of the job; at most 60. */
      wait?: number;
      /** Names of fields, separated by commas: each job has only these then, also those that are always there. */
      fields?: string;
      /** The most items that the answer shows; 0 leaves them out. Default 100. */
      items?: number;
    };
    body: JobRequest;
    data: Job | JobEstimate | Job;
  };
  'GET /jobs/counts': {
    query: {
      /** Slug or id for every version, or slug@version. */
      preset?: string;
      /** Jobs that were submitted as this op. */
      op?: string;
      /** Every attempt of one job. */
      rootJobId?: string;
      /** At or after: epoch milliseconds, or an ISO-8601 date or instant (UTC). */
      createdFrom?: string;
      /** At or before, in the same forms; a bare date includes the whole day. */
      createdTo?: string;
    };
    data: JobCount[];
  };
  'GET /jobs/{jobId}': {
    path: { jobId: string };
    query: {
      /** Seconds to wait for the end of the job; at most 60. */
      wait?: number;
      /** Names of fields, separated by commas: each job has only these then, also those that are always there. */
      fields?: string;
      /** The most items that the answer shows; 0 leaves them out. Default 100. */
      items?: number;
    };
    data: Job;
  };
  'GET /jobs/{jobId}/items': {
    path: { jobId: string };
    query: Paging & {
      /** COMPLETED, FAILED and CANCELLED are final. */
      status?: "PENDING" | "PROCESSING" | "COMPLETED" | "FAILED" | "CANCELLED";
    };
    data: JobItem[];
  };
  'POST /jobs/{jobId}/cancel': {
    path: { jobId: string };
    query: {
      /** Names of fields, separated by commas: each job has only these then, also those that are always there. */
      fields?: string;
      /** The most items that the answer shows; 0 leaves them out. Default 100. */
      items?: number;
    };
    data: Job;
  };
  'POST /jobs/{jobId}/resume': {
    path: { jobId: string };
    query: {
      /** Checks and prices the new attempt without creating it. */
      dryRun?: boolean;
      /** The same as dryRun. */
      dry_run?: boolean;
      /** Names of fields, separated by commas: each job has only these then, also those that are always there. */
      fields?: string;
      /** The most items that the answer shows; 0 leaves them out. Default 100. */
      items?: number;
    };
    body: ResumeRequest;
    data: JobEstimate | ResumedJob;
  };
  'GET /jobs/{jobId}/results/link': {
    path: { jobId: string };
    query: {
      /** How long the link is valid; default 300. */
      expiresInSeconds?: number;
      /** The former name of expiresInSeconds. */
      expiresIn?: number;
    };
    data: Link;
  };
}

export interface Account {
  id: string;
  email: string;
  name: string;
  plan: string;
  createdAt: string;
  credits: Credits;
  processing: {
    /** -1 when unlimited. */
    limit: number;
    /**
     * Runs of this period, those past the limit too. Without a limit, synchronous calls of the last second may be
     * missing.
     */
    used: number;
    /** -1 when unlimited. */
    left: number;
    /** First instant of the month, UTC. */
    periodStart: string;
    /** First instant of the next month. */
    periodEnd: string;
  };
  assets: { limit: number; stored: number; left: number };
  limits: AccountLimits;
  webhooks: WebhookTargets;
}

export interface AccountLimits {
  /** Synchronous image calls in flight. */
  syncConcurrency: number;
  /** Job waits open at once. */
  jobWaits: number;
  requestsPerMinute: number;
  /** The next ones wait. */
  runningJobsPerType: number;
}

export interface ApiKey {
  id: string;
  name: string;
  /** The prefix and the last 4 characters. */
  hint: string;
  createdAt: string;
  /** Exact to a minute. */
  lastUsedAt?: string;
}

export interface Asset {
  id: string;
  status: "PENDING" | "DONE" | "FAILED";
  name?: string;
  collection?: string;
  origin: "upload" | "job";
  jobId?: string;
  itemIndex?: number;
  image?: ImageObject;
  /** Tags under their own names, by group (exif, iptc, xmp, icc, png, …); no binary values. */
  metadata?: Record<string, Record<string, unknown>>;
  createdAt: string;
  /** When it is deleted; absent on one that stays. */
  expiresAt?: string;
}

export interface AssetCollection {
  name: string;
  assets: number;
  /** When it was made, or last got an asset. */
  updatedAt: string;
}

export interface CodesOfImage {
  /** Of the image as displayed, or of a vector drawing as drawn to be read. Boxes are in its pixels. */
  width: number;
  height: number;
  /** From top to bottom, at most 100. */
  codes: {
    /** Such as QRCode, DataMatrix, EAN13 or Code128. */
    format: string;
    /** The number of a UPC-A or UPC-E code has the 13 digits of EAN-13. */
    text: string;
    x: number;
    y: number;
    width: number;
    height: number;
  }[];
}

export interface CompareReference extends ImageReference {
  /** The second image, one of the assets; or otherUrl. */
  otherAssetId?: string;
  /** Or otherAssetId. */
  otherUrl?: string;
}

export interface CookieSession {
  expiresAt: string;
  account: Account;
}

export interface Credits {
  balance: number;
  /** Reserved for work that has not ended. */
  held: number;
  /** balance - held. */
  available: number;
}

export interface Delivery {
  /** `whd_…` */
  id: string;
  /** The same on every attempt: the key to deduplicate by. */
  eventId: string;
  eventType: string;
  /** DELIVERED and FAILED are final. */
  status: "PENDING" | "DELIVERED" | "FAILED";
  attempts: number;
  /** When it was queued for this endpoint. */
  createdAt: string;
  /** While PENDING. */
  nextAttemptAt?: string;
  /** When a 2xx came back. */
  deliveredAt?: string;
  /** The last status of the receiver. */
  responseStatus?: number;
  /** Why the last attempt failed. */
  error?: string;
}

export interface DeliveryLink {
  url: string;
  /**
   * The rungs of a family, each with the width that it answers. The rungs above the first that reaches the own
   * width of an asset are left out, because they answer the same picture.
   */
  srcset?: string;
  sizes?: string;
  /** One `<img>`. */
  html: string;
  /** `slug@version` that was saved for this, or found. */
  preset?: string;
}

export interface DeliveryLinks extends Partial<DeliveryLink> {
  /** In the order of the call. */
  links?: DeliveryLink[];
}

export interface DeliveryWithBody extends Delivery {
  /** The event as JSON text: the same bytes at each attempt. */
  body: string;
}

export interface Difference {
  /** Likeness of the brightness, at most 1; 1 when they are the same. */
  ssim: number;
  /** With `ssimulacra2`: the score, at most 100 (70 good, 80 very good, 90 hardly told apart). */
  ssimulacra2?: number;
  /** Share of the pixels of which a channel differs by more than 8 of 255. */
  changedShare: number;
  /** Largest difference of a channel, 0 to 255. */
  maxDifference: number;
  /**
   * Bits in which the perceptual hashes differ, 0 to 64. Copies of one picture differ in few: GET
   * /api/v1/assets?similarTo finds those within 6, or within distance, at most 7.
   */
  hashDistance: number;
  /** Where changed pixels are; at most 100, the largest first, without overlap. */
  regions: { x: number; y: number; width: number; height: number }[];
}

export type ErrorCode = "invalid_param" | "invalid_state" | "unsupported_format" | "unauthorized" | "insufficient_credit" | "forbidden" | "asset_not_found" | "job_not_found" | "preset_not_found" | "not_found" | "method_not_allowed" | "not_acceptable" | "idempotency_key_reuse" | "request_in_progress" | "subscription_not_actionable" | "payload_too_large" | "unsupported_media_type" | "asset_count_exceeded" | "resource_limit_exceeded" | "job_not_resumable" | "provider_rejected" | "rate_limited" | "service_misconfigured" | "internal_error" | "provider_unavailable";

export interface Feedback {
  id: string;
  kind: "capability_gap" | "bug" | "other";
  message: string;
  /** The op that it is about; not checked against the catalogue. */
  op?: string;
  /** Whatever helps; at most 4000 characters as JSON. */
  context?: Record<string, unknown>;
  /** The key it was filed with; absent for a console session. */
  apiKeyId?: string;
  createdAt: string;
}

export interface FeedbackRequest {
  /** capability_gap, bug, other, in any case. */
  kind: string;
  /** At most 4000 characters without the space around it; not blank. */
  message: string;
  /** The op that it is about; not checked against the catalogue. */
  op?: string;
  /** Whatever helps; at most 4000 characters as JSON. */
  context?: Record<string, unknown>;
}

export interface FontFamily {
  family: string;
  /** Such as `Bold Italic`. */
  styles: string[];
  /** The scripts that its characters cover, by their names in Unicode, such as `Latin`; `Emoji` beside them. */
  scripts: string[];
}

export interface Guidelines {
  /** Changes exactly when the document does. */
  version: string;
  updatedAt: string;
  /** Markdown. */
  document: string;
}

export interface ImageEstimate {
  /** Null if only the pixels tell which of several is the smallest. */
  format: "jpeg" | "png" | "webp" | "avif" | "gif" | "tiff" | null;
  /** In pixels; null if only the pixels tell. */
  width: number | null;
  /** In pixels, of one frame; null if only the pixels tell. */
  height: number | null;
  frames: number;
  /** Whether parts of it can be transparent; null if only the pixels tell. */
  transparency: boolean | null;
  /** In credits: 0 within the allowance of the plan. */
  price: number;
  /** As in X-Service-Warnings, as far as they are known before the work. */
  warnings: { code: string; name?: string; value?: string }[];
}

export interface ImageMetadata {
  image: ImageObject;
  /** Tags under their own names, by group (exif, iptc, xmp, icc, png, …); no binary values. */
  metadata: Record<string, Record<string, unknown>>;
  /** Milliseconds that the worker took. */
  durationMs: number;
}

export interface ImageModelPrice {
  id: string;
  name: string;
  description: string;
  series: string;
  categories: string[];
  /** USD per image after markup. */
  priceFrom: string;
  /** For people. */
  priceRange: string;
  /** USD per image before markup. */
  providerPrice: string;
  /** Absent when one number covers it. */
  providerPriceRange?: string;
  /** True on a stand-in for tests, whose results are invented; absent elsewhere. */
  sandbox?: boolean;
}

export interface ImageObject {
  mimeType: string;
  format: string;
  /** As displayed, after EXIF orientation. */
  width: number;
  height: number;
  /** EXIF value, 1 to 8. */
  orientation: number;
  bytes: number;
  sha1: string;
  hasAlpha: boolean;
  isOpaque: boolean;
  frames: number;
  density: number | null;
  colorSpace: string;
  bitDepth: number;
  /** #rrggbb */
  dominantColor: string;
  /** #rrggbb */
  averageColor: string;
  entropy: number;
  sharpness: number;
  /** Base64. */
  thumbhash: string;
  /** BlurHash of 4 × 3 parts, or 3 × 4 of an upright picture. */
  blurhash?: string;
  /** 64 bits as 16 hex digits. Pictures that look alike differ in few of them. */
  perceptualHash?: string;
  /**
   * With `palette` in the query: the main colours, the largest share first; fewer where fewer can be told apart,
   * none where nothing is visible.
   */
  palette?: {
    /** #rrggbb */
    color: string;
    /** Of the visible pixels, 0 to 1. */
    share: number;
  }[];
}

export interface ImageReference {
  /** One of the assets of the account; give this or url. */
  assetId?: string;
  /** http or https, public, without redirects; give this or assetId. */
  url?: string;
}

export interface Job extends JobSummary {
  /** As the model receives it. */
  prompt?: string;
  /** The parameters that it runs with; the rows of a render are under items. */
  parameters?: Record<string, unknown>;
  references?: string[];
  pipelines?: JobPipeline[];
  segments?: JobSegment[];
  /** The first 100, or as many as the query asks for. */
  items?: JobItem[];
  /** True when there are more. */
  itemsTruncated?: boolean;
}

export interface JobCompletedEvent {
  /** `evt_…`; the same at every attempt. */
  id: string;
  type: "job.completed";
  /** The instant of what it announces. */
  createdAt: string;
  data: {
    jobId: string;
    /** The type of the job. */
    type: string;
    status: "COMPLETED";
    /** Items of the job. */
    totalItems: number;
    /** Items that made a result. */
    completedItems: number;
    /** Items that failed. */
    failedItems: number;
    /** How many of its items completed. */
    outcome?: "all" | "some" | "none";
    creditsCharged: number;
    /** Of the closed set of error codes. */
    errorCode?: string;
    /** Whether the same call may succeed later. */
    retryable?: boolean;
  };
}

export interface JobCount {
  /** COMPLETED, FAILED and CANCELLED are final. */
  status: "PENDING" | "PROCESSING" | "COMPLETED" | "FAILED" | "CANCELLED" | "CANCELLING";
  /** What kind of work it is; a chain has several segments. */
  type: "ai-generate" | "ai-edit" | "parse" | "process" | "render" | "chain";
  count: number;
}

export interface JobEstimate {
  /** Distinguishes an estimate from the job that a submit answers. */
  object: "estimate";
  /** What kind of work it is; a chain has several segments. */
  type: "ai-generate" | "ai-edit" | "parse" | "process" | "render" | "chain";
  /** Items of the job. */
  totalItems: number;
  /** True when a model of the sandbox does part of it: what it makes is invented. Absent elsewhere. */
  sandbox?: boolean;
  /** The highest, where variants differ. */
  creditsPerItem: number;
  /** For models, in all. */
  credits: number;
  /** The account's. */
  balance: number;
  sufficientCredit: boolean;
  /** Assets that the plan has room for before the job. */
  assetCountLeft: number;
  /** Runs left of the allowance before the job; -1 without a limit. */
  processCountLeft: number;
  /** Runs beyond the allowance. */
  overageRuns: number;
  /** What those cost. */
  overageCredits: number;
  /** With several segments: the price of each. */
  steps?: {
    /** The segment, from 0. */
    index: number;
    type: string;
    op?: string;
    model?: string;
    /** Items that go through it. */
    items: number;
    /** For all of them. */
    credits: number;
    /** Runs against the allowance. */
    processRuns: number;
  }[];
  warnings?: Record<string, unknown>[];
  /**
   * Indexes, in the attempt that is resumed, of items that failed for a reason that does not pass by itself: they
   * will most likely fail again. At most 100.
   */
  notRetryableItems?: number[];
}

export interface JobFailedEvent {
  /** `evt_…`; the same at every attempt. */
  id: string;
  type: "job.failed";
  /** The instant of what it announces. */
  createdAt: string;
  data: {
    jobId: string;
    /** The type of the job. */
    type: string;
    /** How it ended. */
    status: "FAILED" | "CANCELLED";
    /** Items of the job. */
    totalItems: number;
    /** Items that made a result. */
    completedItems: number;
    /** Items that failed. */
    failedItems: number;
    /** How many of its items completed. */
    outcome?: "all" | "some" | "none";
    creditsCharged: number;
    /** Of the closed set of error codes. */
    errorCode?: string;
    /** Whether the same call may succeed later. */
    retryable?: boolean;
  };
}

export interface JobItem {
  /** From 0. */
  index: number;
  /** COMPLETED, FAILED and CANCELLED are final. */
  status: "PENDING" | "PROCESSING" | "COMPLETED" | "FAILED" | "CANCELLED";
  /** The asset that it works on. */
  assetId?: string;
  /** The variant's name, or its index as text. */
  variant?: string;
  /** The asset that it made. */
  resultAssetId?: string;
  /** True when a model of the sandbox does part of it: what it makes is invented. Absent elsewhere. */
  sandbox?: boolean;
  /** The answer of an op that produces JSON. */
  output?: unknown;
  /** compress: what was reached. */
  achieved?: Record<string, unknown>;
  /**
   * As in X-Service-Warnings of a synchronous call of the same work, such as `not_enlarged`: the result may not be
   * what was meant.
   */
  warnings?: { code: string; name?: string; value?: string }[];
  errorCode?: string;
  retryable?: boolean;
  errorMessage?: string;
  /** Tries that failed so far, of 3; beside lastError, until the item completes or fails. */
  attempts?: number;
  /** Why the last try failed, while the item waits for its next one or runs again. */
  lastError?: { code: string; message: string };
  /** Chain: the segment that it is in. */
  step?: number;
  /** Chain: the segment that failed. */
  failedStep?: number;
  durationMs?: number;
  /** When its last try began. */
  startedAt?: string;
  /** When it settled. */
  completedAt?: string;
}

export interface JobItemCompletedEvent {
  /** `evt_…`; the same at every attempt. */
  id: string;
  type: "job.item.completed";
  /** The instant of what it announces. */
  createdAt: string;
  data: {
    jobId: string;
    /** The type of the job. */
    type: string;
    status: "COMPLETED";
    /** Items of the job. */
    totalItems: number;
    /** From 0. */
    itemIndex: number;
    /** Items of the job that had ended by then, this one included. */
    settledItems: number;
    /** The asset that it worked on. */
    sourceAssetId?: string;
    /** The asset that it made. */
    resultAssetId?: string;
    /** The answer of an op that produces JSON. */
    output?: unknown;
    /** Chain: the segment that it ended in. */
    step?: number;
    /** Chain: the segment that failed. */
    failedStep?: number;
    /** Of the closed set of error codes. */
    errorCode?: string;
    /** Whether the same call may succeed later. */
    retryable?: boolean;
    /** Why it failed, as a sentence. */
    error?: string;
  };
}

export interface JobItemFailedEvent {
  /** `evt_…`; the same at every attempt. */
  id: string;
  type: "job.item.failed";
  /** The instant of what it announces. */
  createdAt: string;
  data: {
    jobId: string;
    /** The type of the job. */
    type: string;
    status: "FAILED";
    /** Items of the job. */
    totalItems: number;
    /** From 0. */
    itemIndex: number;
    /** Items of the job that had ended by then, this one included. */
    settledItems: number;
    /** The asset that it worked on. */
    sourceAssetId?: string;
    /** The asset that it made. */
    resultAssetId?: string;
    /** The answer of an op that produces JSON. */
    output?: unknown;
    /** Chain: the segment that it ended in. */
    step?: number;
    /** Chain: the segment that failed. */
    failedStep?: number;
    /** Of the closed set of error codes. */
    errorCode?: string;
    /** Whether the same call may succeed later. */
    retryable?: boolean;
    /** Why it failed, as a sentence. */
    error?: string;
  };
}

export interface JobPipeline {
  variant?: string;
  steps: {
    operation: string;
    /** Its arguments. */
    params: Record<string, unknown>;
  }[];
}

export interface JobRequest {
  /** An op of the catalogue; alone, it decides everything else. */
  op?: string;
  /** A raw type, only without op. */
  type?: string;
  /** One item per asset; at most 10000. */
  assetIds?: string[];
  /** Selects DONE images, oldest first, in place of assetIds. */
  from?: {
    /** Of this collection. */
    collection?: string;
    /** Stored at or after: epoch milliseconds, an ISO-8601 date or an instant (UTC). */
    createdFrom?: string | number;
    /** At or before, in the same forms; a bare date includes the whole day. */
    createdTo?: string | number;
    /** The oldest of them; without it, more than 10000 are refused. */
    limit?: number;
  };
  /** The op's parameters; at most 64 KB of JSON. */
  parameters?: Record<string, unknown>;
  /** AI ops; at most 32,000 characters. */
  prompt?: string;
  /** generate: 1 to 10 items. */
  count?: number;
  /** AI ops; the op's default when left out. */
  model?: string;
  /** render_template: id or slug, optionally @version. */
  templateId?: string;
  /** render_template: one item per row. */
  items?: unknown[];
  /** Id, slug or slug@version of a preset. */
  presetId?: string;
  /** Run in order. Adjacent deterministic steps are one pass; each AI step is its own segment. */
  steps?: PresetStep[];
  /** At most 4; a list of steps with subjects needs a generate or edit step. */
  subjects?: unknown[];
  /** Collection of the results. */
  collection?: string;
  /** 1 to 20, at most 256 KB: {name, parameters}, merged over parameters. Each makes an item of every asset. */
  variants?: { name?: string; parameters?: Record<string, unknown> }[];
  /** Most credits that the job may cost, overage included; a higher price is refused with 402. */
  maxCredits?: number;
  /** Dry run: stands for this number of additional assetIds. */
  imageCount?: number;
  /** Seconds to wait for a job of one item; at most 60. */
  wait?: number;
  /** Removed: leave it out. */
  mode?: never;
}

export interface JobSegment {
  /** From 0. */
  index: number;
  type: string;
  op?: string;
  model?: string;
  prompt?: string;
  /** As the model receives them. */
  parameters?: Record<string, unknown>;
  pipeline?: {
    operation: string;
    /** Its arguments. */
    params: Record<string, unknown>;
  }[];
  /** The steps that it is made of. */
  stepIndexes: number[];
}

export interface JobSummary {
  /** Distinguishes a job from the estimate that a dry run answers. */
  object: "job";
  id: string;
  /** COMPLETED, FAILED and CANCELLED are final. */
  status: "PENDING" | "PROCESSING" | "COMPLETED" | "FAILED" | "CANCELLED" | "CANCELLING";
  /** What kind of work it is; a chain has several segments. */
  type: "ai-generate" | "ai-edit" | "parse" | "process" | "render" | "chain";
  /** Items of the job. */
  totalItems: number;
  /** Items that made a result. */
  completedItems: number;
  /** Items that failed. */
  failedItems: number;
  /** Items that a cancel stopped. */
  cancelledItems: number;
  /** How many of its items completed; only on a job that has ended. */
  outcome?: "all" | "some" | "none";
  /** The op that it was submitted as. */
  op?: string;
  model?: string;
  /** True when a model of the sandbox does part of it: what it makes is invented. Absent elsewhere. */
  sandbox?: boolean;
  collection?: string;
  presetId?: string;
  presetName?: string;
  presetVersion?: number;
  /** Credits charged for models; 0 until the job has ended. */
  actualCredits: number;
  errorCode?: string;
  errorMessage?: string;
  retryable?: boolean;
  /** 1, and 1 more with each resume. */
  attemptNumber: number;
  parentJobId?: string;
  rootJobId: string;
  /** When it was submitted. */
  createdAt: string;
  /** When it ended. */
  completedAt?: string;
  /** When its record and what it made are removed. */
  expiresAt: string;
}

export interface LedgerEntry {
  id: string;
  /** grant, charge, overage, hold or release. */
  type: string;
  /** Signed change of the balance; 0 on hold and release. */
  credits: number;
  /** The amount, on hold and release; else 0. */
  held: number;
  /** The balance after this movement. */
  balanceAfter: number;
  jobId?: string;
  note?: string;
  createdAt: string;
}

export interface Link {
  /** Readable without a credential until then. */
  url: string;
  expiresAt: string;
}

export interface LinkBody {
  /** What stands behind # in the link. */
  token: string;
}

export interface ListMeta {
  total?: number;
  /** Zero-based. */
  page?: number;
  /** The size actually served. */
  perPage: number;
  hasMore: boolean;
  /** Opaque; null on the last page. */
  nextCursor: string | null;
}

export interface ListedAsset extends Asset {
  /** With similarTo: bits in which the perceptual hashes differ. */
  distance?: number;
}

export interface ModelDTO {
  /** What `model` names. */
  id: string;
  name: string;
  description: string;
  series: string;
  mode: "ai_image" | "analyze";
  /** The model runs an op when this includes the op's modelCategory. */
  categories: string[];
  /** Price per image after markup, one figure or min - max. */
  image_price_range: string;
  /** The provider's list price per image, USD. */
  provider_price: string;
  provider_price_range?: string;
  /** Price of one item in credits. Where they differ, parameters decide: a dry run tells which. */
  credits_per_item: { min: number; max: number };
  /** USD per 1M input tokens. */
  prompt_price?: string;
  /** USD per 1M output tokens. */
  completion_price?: string;
  context_length?: number;
  /** Unix timestamp. */
  created: number;
  image_required: boolean | null;
  input_modalities: string[];
  output_modalities: string[];
  /** Longest edge handed to the model, in pixels. */
  max_input_edge?: number;
  max_input_images: number | null;
  /**
   * `{key, label, type, defaultValue}` with options, min and max, or pattern: other values are refused. Parameters
   * that are not listed go to the model as sent.
   */
  parameters: unknown[];
  support_structured_output: boolean;
  supported_parameters: string[];
  /** True on a stand-in for tests, whose results are invented; absent elsewhere. */
  sandbox?: boolean;
}

export interface NewApiKey extends ApiKey {
  /** Shown once. */
  key: string;
}

export interface NewApiKeyBody {
  name?: string;
}

export interface NewCollection {
  name: string;
}

export interface NewDeliveryLink {
  /** The picture; or url. */
  assetId?: string;
  /** A public http(s) address of the picture. */
  url?: string;
  /** A deterministic op; or steps, or preset. Default with widths: resize. */
  op?: string;
  /** Those of op. */
  parameters?: Record<string, unknown>;
  steps?: PresetStep[];
  /** Slug, id or slug@version; the address names the version. */
  preset?: string;
  /** auto: the smallest that the reader takes. Default: auto with widths, else that of the work. */
  format?: "jpg" | "jpeg" | "png" | "webp" | "avif" | "gif" | "tiff" | "auto";
  /** Makes a family: the browser chooses among these widths. Ascending. */
  widths?: number[];
  /** Default: no end. */
  expiresInSeconds?: number;
}

export interface NewDeliveryLinks extends NewDeliveryLink {
  /** Several at once, instead of the other fields. */
  links?: NewDeliveryLink[];
}

export interface NewPreset {
  /** Not blank. */
  name: string;
  /** Run in order. Adjacent deterministic steps are one pass; each AI step is its own segment. */
  steps: PresetStep[];
  /** An empty string on PUT empties it. */
  description?: string;
  /** At most 4; a list of steps with subjects needs a generate or edit step. */
  subjects?: unknown[];
  /** Ascending: what signed addresses of it may ask for. */
  widths?: number[];
  /** Answered by signed addresses of it, with that status, while their source is away. */
  fallback?: { assetId: string; status: 200 | 404 };
  /** Unique in the account. Made from the name when omitted; `builtin-` is reserved. */
  slug?: string;
}

export interface NewSigningKey extends SigningKey {
  /** `sgs_…`, shown once. Its text is the HMAC key. */
  secret: string;
}

export interface NewSigningKeyBody {
  name?: string;
}

export interface NewTemplate {
  /** Not blank. */
  name: string;
  /** Free text, not rendered. An empty string on PUT empties it. */
  description?: string;
  /**
   * At most 262,144 bytes (256 KB) of UTF-8. `{{ name }}` is filled escaped, `{{{ name }}}` raw. Scripts never run;
   * only data: URIs and the account's own assets are loaded. A picture has no time: animations and transitions that
   * end are drawn at their end, others before they move.
   */
  html: string;
  /**
   * At most 131,072 bytes (128 KB) of UTF-8; placeholders are filled here too. An empty string on PUT empties it.
   */
  css?: string;
  /** Width of the picture, 1 to 4096 px. */
  width: number;
  /** Height of the picture, 1 to 4096 px. */
  height: number;
  /**
   * Names of the placeholders: letters, digits, `_` and `.`. Derived from html and css when omitted. One that a row
   * may leave empty is `{"name": "subtitle", "optional": true}`: it gives no `empty_variable` warning.
   */
  variables?: (string | { name: string; optional?: boolean })[];
  /** Unique in the account. Made from the name when omitted; `builtin-` is reserved. */
  slug?: string;
}

export interface NewWebhookEndpoint {
  /** https on port 443, on a host whose every address is public. */
  url: string;
  description?: string;
  /**
   * Any of job.completed, job.failed, job.item.completed, job.item.failed; job.completed and job.failed when it is
   * not sent.
   */
  events?: ("job.completed" | "job.failed" | "job.item.completed" | "job.item.failed")[];
  /** A disabled endpoint gets nothing, and no event of that time later. */
  enabled?: boolean;
}

export interface OpDefinition extends OpName {
  params: Record<string, OpParameter>;
  pricing: OpPricing;
  produces: "image" | "json";
  requiresAssets: boolean;
  requiresPrompt: boolean;
  /** Absent for a sync op. */
  jobType?: string;
  example?: Record<string, unknown>;
  defaultModel?: string;
  modelCategory?: string;
  /** Longest input edge in pixels for the default model. */
  maxInputEdge?: number;
  /** Median of the last items on the default model; absent while too few are known, which does not mean fast. */
  typicalSeconds?: number;
  /** A sync op's answering endpoint, below /api/v1. */
  endpoint?: string;
  /** Runs the op while the caller waits; below /api/v1. */
  syncEndpoint?: string;
  /** What syncEndpoint takes, if that differs from params. */
  syncParams?: Record<string, OpParameter>;
  /**
   * What syncEndpoint takes as it stands: the JSON body of a render, else query keys beside the bytes of an image.
   */
  syncExample?: Record<string, unknown>;
  defaultPrompt?: string;
  defaultSchema?: Record<string, unknown>;
}

export interface OpName {
  op: string;
  kind: "ai" | "deterministic" | "sync";
  description: string;
}

export interface OpParameter {
  type: string;
  enum?: (string | number)[];
  /** Least value, or least length of text or a list. */
  min?: number;
  /** Largest value, or largest length of text or a list. */
  max?: number;
  /** Regular expression of the text. */
  pattern?: string;
  default?: string | number | boolean;
  description: string;
}

export interface OpPricing {
  basis: "per_item" | "process_quota" | "free";
  defaultModel?: ImageModelPrice;
  /** price = providerPrice x (1 + markup). */
  markup?: number;
  creditsPerUsd?: number;
  processLimit?: Record<string, number>;
  overageCredits?: Record<string, number>;
  /** How to learn the exact price of one request. */
  exactPrice?: string;
  summary: string;
}

export interface OutputEstimates {
  outputs: ({
    name: string;
    /** Null if only the pixels tell which of several is the smallest. */
    format?: "jpeg" | "png" | "webp" | "avif" | "gif" | "tiff" | null;
    /** In pixels; null if only the pixels tell. */
    width?: number | null;
    /** In pixels, of one frame; null if only the pixels tell. */
    height?: number | null;
    frames?: number;
    /** Whether parts of it can be transparent; null if only the pixels tell. */
    transparency?: boolean | null;
    /** In credits: 0 within the allowance of the plan. */
    price?: number;
    /** As in X-Service-Warnings, as far as they are known before the work. */
    warnings?: { code: string; name?: string; value?: string }[];
    /** The error of an output that would fail. */
    error?: unknown;
  })[];
  /** Of the outputs together, in credits. */
  price: number;
}

export type PresetChange = Partial<NewPreset>;

export interface PresetData {
  /** `pre_…`; of a built-in `builtin-…`. */
  id: string;
  builtIn: boolean;
  /** Not blank. */
  name: string;
  slug: string;
  /** An empty string on PUT empties it. */
  description: string;
  /** Run in order. Adjacent deterministic steps are one pass; each AI step is its own segment. */
  steps: PresetStep[];
  subjects: Subject[];
  /** Ascending: what signed addresses of it may ask for. */
  widths?: number[];
  /** Answered by signed addresses of it, with that status, while their source is away. */
  fallback?: { assetId: string; status: 200 | 404 };
  version: number;
  /** Current and superseded versions. */
  versionCount: number;
  /** Superseded versions, oldest first. */
  versions?: PresetVersionData[];
  usage?: PresetUsage;
  warnings?: {
    code: string;
    /** The parameter that it is about. */
    name?: string;
    /** What was probably meant. */
    meant?: { name: string; value?: string };
    message: string;
    /** Indexes concerned, the redundant one first. */
    steps: number[];
  }[];
  /** When the preset was created. */
  createdAt: string;
  /** When it was last saved, a rename included; of an earlier version, when that was saved. */
  updatedAt: string;
}

export type PresetEntries = unknown[];

export interface PresetImport {
  /** As saved, in the order sent. */
  data: PresetData[];
  /** Absent when every entry was imported. */
  errors?: string[];
  importedCount: number;
}

export interface PresetStep {
  /** An op of kind ai or deterministic. */
  op?: string;
  /** AI steps; the op's default when absent. */
  model?: string;
  /** AI steps; `{{subject.<name>}}` expands to the descriptor of that subject. */
  prompt?: string;
  /** The op's parameters; at most 64 KB of JSON. */
  parameters?: Record<string, unknown>;
  /** A key of the processing registry. */
  operation?: string;
  /** The operation's arguments. */
  params?: unknown;
}

export interface PresetUsage {
  /** Jobs that ran it at any version, while they are on record. */
  runs: number;
  /** When the most recent was submitted. */
  lastRunAt?: string;
}

export interface PresetVersionData {
  version: number;
  /** Run in order. Adjacent deterministic steps are one pass; each AI step is its own segment. */
  steps: PresetStep[];
  subjects: Subject[];
  /** Ascending: what signed addresses of it may ask for. */
  widths?: number[];
  /** Answered by signed addresses of it, with that status, while their source is away. */
  fallback?: { assetId: string; status: 200 | 404 };
  /** When that version was saved. */
  updatedAt: string;
}

export interface RedeliverBody {
  /** Deliveries that were queued at or after: YYYY-MM-DD or an ISO-8601 instant (UTC). */
  since: string;
}

export interface Redelivered {
  /** New deliveries: one for each event. */
  queued: number;
  /** Events beyond the 1000 of one call: repeat it. */
  left: number;
}

export interface RenderRequest {
  /** Id, slug, or either with @version; a built-in also by its short name, such as social-card. Or send html. */
  templateId?: string;
  /**
   * At most 262,144 bytes (256 KB) of UTF-8. `{{ name }}` is filled escaped, `{{{ name }}}` raw. Scripts never run;
   * only data: URIs and the account's own assets are loaded. A picture has no time: animations and transitions that
   * end are drawn at their end, others before they move.
   */
  html?: string;
  /**
   * At most 131,072 bytes (128 KB) of UTF-8; placeholders are filled here too. An empty string on PUT empties it.
   */
  css?: string;
  /** Width of the picture, 1 to 4096 px. */
  width?: number;
  /** Height of the picture, 1 to 4096 px. */
  height?: number;
  /** The row: variable name to value. */
  data?: Record<string, unknown>;
  /** Of the picture. Default: png. */
  format?: "png" | "jpeg" | "webp" | "avif";
  /** Of a jpeg, webp or avif. */
  quality?: number;
  /** Pixels of the picture per pixel of the template; the picture has at most 4096 per edge. Default: 1. */
  scale?: number;
}

export interface RequestErrorGroup {
  method: string;
  /** The name of the call in generated clients, such as `transformImage`. */
  operation: string;
  /** The path with its parameters in braces, such as `/api/v1/jobs/{jobId}`. */
  route: string;
  /** The code of the error. */
  code: string;
  /** Of the last one. */
  message: string;
  /** The parameter at fault. */
  param?: string;
  /** The sub-reason, of `details.reason`. */
  reason?: string;
  /** The corrections that, made in order, let the call pass. */
  fix?: unknown[];
  /** How many of the recent calls. */
  count: number;
  /** When the first of them was answered. */
  firstAt: string;
  /** When the last of them was answered. */
  lastAt: string;
  /** The id of the last one. */
  lastRequestId: string;
}

export interface RequestRecord {
  /** The X-Request-Id: several calls may have the same one, if their caller chose it. */
  id: string;
  /** When it was answered. */
  at: string;
  method: string;
  /** The name of the call in generated clients, such as `transformImage`. */
  operation: string;
  /** The path with its parameters in braces, such as `/api/v1/jobs/{jobId}`. */
  route: string;
  /** The path and query as they were sent, without secrets. */
  path: string;
  /** Of the answer. */
  status: number;
  error?: {
    /** The code of the error. */
    code: string;
    /** As it was answered. */
    message: string;
    /** The parameter at fault. */
    param?: string;
    /** The sub-reason, of `details.reason`. */
    reason?: string;
    /** The corrections that, made in order, let the call pass. */
    fix?: unknown[];
    /** Whether the same call may succeed later. */
    retryable: boolean;
  };
  /** From the request to the end of its answer. */
  durationMs: number;
  /** The parts of Server-Timing, in milliseconds, in their order. */
  timing?: Record<string, number>;
  /** Of the body, if the client announced its size. */
  bytesIn?: number;
  /** Of the answer; absent for a stream of unknown size. */
  bytesOut?: number;
  /** The entries of X-Service-Warnings. */
  warnings?: string[];
  /** The key it was made with; absent for a console session. */
  apiKeyId?: string;
}

export interface Reservation {
  contentType: "image/jpeg" | "image/png" | "image/webp" | "image/gif" | "image/avif" | "image/tiff" | "image/svg+xml";
  /** What downloads are called. */
  name?: string;
  /** 1 to 64 characters; one that does not exist is created. */
  collection?: string;
}

export interface Reserved {
  asset: Asset;
  upload: {
    method: "PUT";
    /** Signed and for a single use: no credential is sent with it. */
    url: string;
    headers: Record<string, string>;
    expiresAt: string;
  };
}

export interface ResultLink {
  /** Signed, good for 5 minutes. */
  url: string;
  contentType: string;
  bytes: number;
  expiresInSeconds: number;
  width: number;
  height: number;
}

export interface ResumeRequest {
  /** Most credits that the job may cost, overage included; a higher price is refused with 402. */
  maxCredits?: number;
}

export interface ResumedJob extends Job {
  /**
   * Indexes, in the attempt that is resumed, of items that failed for a reason that does not pass by itself: they
   * will most likely fail again. At most 100.
   */
  notRetryableItems?: number[];
}

export interface Session {
  id: string;
  /** When it was signed in. */
  createdAt: string;
  expiresAt: string;
  /** Whether it makes this call. */
  isCurrent: boolean;
}

export interface SignInBody {
  email: string;
  password: string;
}

export interface SignedIn extends CookieSession {
  /** For `Authorization: Bearer`; shown once. */
  token: string;
}

export interface SigningKey {
  /** `sgk_…`: the first part of the addresses that it signs. */
  id: string;
  name: string;
  createdAt: string;
}

export interface Subject {
  /** Unique within the preset. */
  name: string;
  /** Your own assets with status DONE; at most 4 across all subjects. */
  referenceAssetIds: string[];
  descriptor?: string;
}

export type TemplateChange = Partial<NewTemplate>;

export interface TemplateData {
  /** `tpl_…`; of a built-in `builtin-template-…`; of one version `<id>@<version>`. */
  id: string;
  builtIn: boolean;
  version: number;
  createdAt: string;
  /** Not blank. */
  name: string;
  /** Free text, not rendered. An empty string on PUT empties it. */
  description?: string;
  /**
   * At most 262,144 bytes (256 KB) of UTF-8. `{{ name }}` is filled escaped, `{{{ name }}}` raw. Scripts never run;
   * only data: URIs and the account's own assets are loaded. A picture has no time: animations and transitions that
   * end are drawn at their end, others before they move.
   */
  html: string;
  /**
   * At most 131,072 bytes (128 KB) of UTF-8; placeholders are filled here too. An empty string on PUT empties it.
   */
  css: string;
  /** Width of the picture, 1 to 4096 px. */
  width: number;
  /** Height of the picture, 1 to 4096 px. */
  height: number;
  /**
   * Names of the placeholders: letters, digits, `_` and `.`. Derived from html and css when omitted. One that a row
   * may leave empty is `{"name": "subtitle", "optional": true}`: it gives no `empty_variable` warning.
   */
  variables: (string | {
    name: string;
    /** Whether an empty one is worth no warning. */
    optional?: boolean;
  })[];
  slug?: string;
  /** When the current version was saved. */
  updatedAt?: string;
}

export type TemplateEntries = unknown[];

export interface TemplateImport {
  /** As saved, in the order sent. */
  data: TemplateData[];
  /** Absent when every entry was imported. */
  errors?: string[];
  importedCount: number;
}

export interface TemplateSummary {
  /** `tpl_…`; of a built-in `builtin-template-…`; of one version `<id>@<version>`. */
  id: string;
  builtIn: boolean;
  version: number;
  createdAt: string;
  /** Not blank. */
  name: string;
  slug: string;
  /** Free text, not rendered. An empty string on PUT empties it. */
  description: string;
  /** Width of the picture, 1 to 4096 px. */
  width: number;
  /** Height of the picture, 1 to 4096 px. */
  height: number;
  /**
   * Names of the placeholders: letters, digits, `_` and `.`. Derived from html and css when omitted. One that a row
   * may leave empty is `{"name": "subtitle", "optional": true}`: it gives no `empty_variable` warning.
   */
  variables: (string | {
    name: string;
    /** Whether an empty one is worth no warning. */
    optional?: boolean;
  })[];
  /** When the current version was saved. */
  updatedAt: string;
}

export interface TextOfImage {
  /** Of the image as displayed, or of a vector drawing as drawn to be read. Boxes are in its pixels. */
  width: number;
  height: number;
  /** All of it, in reading order; empty if there is none. */
  text: string;
  /** 0 to 1: the mean of the words, by their characters. */
  confidence: number;
  lines: {
    text: string;
    /**
     * 0 to 1: that of its least certain word. A word that is read differently at a second scale has at most 0.5.
     */
    confidence: number;
    x: number;
    y: number;
    width: number;
    height: number;
  }[];
}

export interface UploadTicket {
  /** The asset that the upload makes: its id can be used afterwards. */
  assetId: string;
  method: "POST";
  /** Signed and for a single use: no credential is sent with it. */
  url: string;
  contentTypes: string[];
  maxBytes: number;
  expiresAt: string;
}

export interface UploadTicketRequest {
  /** What the image may be; every type that is read when left out. */
  contentTypes?: ("image/jpeg" | "image/png" | "image/webp" | "image/gif" | "image/avif" | "image/tiff" | "image/svg+xml")[];
  /** Largest image; 35651584 when left out. */
  maxBytes?: number;
  /** Seconds; default 900. */
  expiresInSeconds?: number;
  /** What downloads are called. */
  name?: string;
  /** 1 to 64 characters; one that does not exist is created. */
  collection?: string;
}

export interface Uploaded extends Partial<Asset> {
  /** Of several files, instead of the other fields: the asset of each, in their order. */
  assets?: Asset[];
  /** The files of several that are not assets. The others are not affected. */
  errors?: {
    /** Of the file, from 0. */
    index: number;
    name?: string;
    /** As the error of a call with this file alone. */
    error: unknown;
  }[];
}

export interface UrlUpload {
  url: string;
}

export interface Usage {
  /** Inclusive; a whole minute. */
  from: string;
  /** Exclusive; a whole minute. */
  to: string;
  groupBy: string;
  /** Ordered by key; only those with usage. */
  groups: UsageBucket[];
  total: {
    /** Jobs created in the window. */
    jobs: number;
    /** Credits charged for those jobs. */
    credits: number;
    /** Items of those jobs that settled. */
    items: number;
    /** Successful synchronous calls that counted against the allowance. */
    sync: number;
  };
  /** Synchronous calls that were answered before this instant are counted; later ones may be missing. */
  asOf: string;
}

export interface UsageBucket {
  /** An op, an API key id or `console`, or a UTC date. */
  key: string;
  /** Jobs created in the window. */
  jobs: number;
  /** Credits charged for those jobs. */
  credits: number;
  /** Items of those jobs that settled. */
  items: number;
  /** Successful synchronous calls that counted against the allowance. */
  sync: number;
}

export interface WebhookEndpoint {
  /** `whe_…` */
  id: string;
  url: string;
  description: string;
  events: string[];
  enabled: boolean;
  /** Deliveries in a row that ran out of retries; the endpoint is disabled at 5. */
  consecutiveFailures: number;
  secretHint: string;
  /** When it was disabled for its failures. */
  disabledAt?: string;
  disabledReason?: string;
  /** When it was registered. */
  createdAt: string;
  /** When it was last changed. */
  updatedAt: string;
}

export type WebhookEndpointChange = Partial<NewWebhookEndpoint>;

export interface WebhookEndpointWithSecret extends WebhookEndpoint {
  /** The key of the signatures, `whsec_…`: shown only once. */
  secret: string;
}

export interface WebhookTargets {
  /** Whether endpoints may be plain http, and have any port. */
  plainHttp: boolean;
  /** Whether endpoints may be on the host of the service. */
  loopback: boolean;
  /** Whether the operator allows some networks that are not public. */
  privateNetworks: boolean;
}

export interface WebhookTestEvent {
  /** `evt_…`; the same at every attempt. */
  id: string;
  type: "webhook.test";
  /** The instant of what it announces. */
  createdAt: string;
  data: { message: string };
}
