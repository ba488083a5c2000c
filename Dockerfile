# The service without its embedded database: give it DATABASE_URL and SECRET_KEY (docs/operations.md).

FROM node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY service/package.json service/
COPY client/package.json client/
COPY portal/package.json portal/
COPY examples/announce-bot/package.json examples/announce-bot/
COPY examples/blueprints-page/package.json examples/blueprints-page/
# Optional packages are the embedded database and Node itself; the image has one and is not given the other.
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund

FROM node:24-bookworm-slim AS portal
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY client/package.json client/
COPY client/src client/src
COPY portal/package.json portal/index.html portal/vite.config.ts portal/
COPY portal/build portal/build
COPY portal/src portal/src
# What the pages share with the service.
COPY service/src/contract/delivery-rules.ts service/src/contract/
RUN npm ci --workspace=@orgdir/portal --ignore-scripts --no-audit --no-fund
RUN npm run build --workspace=@orgdir/portal

FROM node:24-bookworm-slim
WORKDIR /app
ENV NODE_ENV=production
ENV HOST=0.0.0.0
COPY --from=dependencies /app/node_modules node_modules
# What npm does not put beside the others, because of versions that its peers may not have.
COPY --from=dependencies /app/service/node_modules service/node_modules
COPY package.json LICENSE ./
COPY service/package.json service/
COPY service/bin service/bin
COPY service/src service/src
COPY service/migrations service/migrations
COPY client/package.json client/
COPY client/src client/src
COPY --from=portal /app/portal/dist portal/dist
# Nothing in the image belongs to the user that runs it, and nothing is written into it.
USER node
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.INTERNAL_PORT ?? 3001}/readyz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# As on the first line of the command (docs/decisions/0017-memory-under-load.md).
ENTRYPOINT ["node", "--min-semi-space-size=8", "--max-semi-space-size=32", "service/bin/orgdir.js"]
CMD ["serve"]
