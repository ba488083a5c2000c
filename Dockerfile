# The service without its embedded database: give it DATABASE_URL and SECRET_KEY (docs/operations.md).
# It contains the release in dist/, which `npm ci && npm run release` makes (docs/releasing.md).

FROM node:24-bookworm-slim AS release
WORKDIR /app
COPY dist/orgdir-[0-9]*.tgz release.tgz
RUN tar --extract --file=release.tgz --strip-components=1 --no-same-owner && rm release.tgz
# Exactly the packages of npm-shrinkwrap.json. The optional ones are the embedded database.
RUN npm ci --omit=optional --ignore-scripts --no-audit --no-fund

FROM node:24-bookworm-slim
WORKDIR /app
ENV NODE_ENV=production
ENV HOST=0.0.0.0
COPY --from=release /app ./
# Nothing in the image belongs to the user that runs it, and nothing is written into it.
USER node
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.INTERNAL_PORT ?? 3001}/readyz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# As on the first line of the command (docs/decisions/0003-reads.md).
ENTRYPOINT ["node", "--min-semi-space-size=8", "--max-semi-space-size=32", "service/bin/orgdir.js"]
CMD ["serve"]
