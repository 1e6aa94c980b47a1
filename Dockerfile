# Darkroom in one image: the service, its fonts and its browser. Runs as an ordinary user under an init that reaps
# the browser's processes.
FROM node:24-bookworm-slim

RUN apt-get update \
  && apt-get install -y --no-install-recommends tini ca-certificates libjemalloc2 chromium-headless-shell \
     fontconfig fonts-noto-core fonts-noto-cjk fonts-liberation \
  && rm -rf /var/lib/apt/lists/*

WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev && npm cache clean --force
COPY config ./config
COPY src ./src
COPY workers ./workers
# `npm run tune` measures the host that the service runs on.
COPY bench ./bench
COPY docs/gallery ./docs/gallery
COPY tsconfig.json LICENSE README.md ./

RUN mkdir -p /data bench/results && touch /data/darkroom.env && chown -R node:node /data bench/results
USER node
# What is set here wins over darkroom.env, so PORT is not.
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data ENV_FILE=/data/darkroom.env
VOLUME /data
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=6s --start-period=20s \
  CMD node --env-file-if-exists="${ENV_FILE:-darkroom.env}" -e \
    "fetch('http://127.0.0.1:' + (process.env.PORT || 3000) + '/readyz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"
ENTRYPOINT ["tini", "--"]
CMD ["node", "src/host/main.ts"]
