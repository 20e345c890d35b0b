# One binary in a small image. Build: docker build -t leasehold .
FROM rust:1.95-bookworm AS build
# The image brings Rust; the browser's part is made smaller by a Node package.
COPY --from=node:22-bookworm-slim /usr/local/bin/node /usr/local/bin/node
COPY --from=node:22-bookworm-slim /usr/local/lib/node_modules /usr/local/lib/node_modules
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
WORKDIR /src
COPY . .
RUN make build

FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --create-home --home-dir /var/lib/leasehold leasehold
COPY --from=build /src/target/release/leasehold /usr/local/bin/leasehold
USER leasehold
WORKDIR /var/lib/leasehold
ENV JOBS_ADDR=0.0.0.0:3000
EXPOSE 3000
ENTRYPOINT ["leasehold"]
CMD ["serve"]
