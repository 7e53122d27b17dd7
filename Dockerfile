# The action's image: one static binary, the certificates it trusts, and nothing else. `make image` builds it.

# The tag names one compiler, the one of rust-toolchain.toml; the release workflow records the digest it resolved to.
FROM docker.io/library/rust:1.95.0-bookworm AS build
ARG SOURCE_DATE_EPOCH=0
ARG TARGET=x86_64-unknown-linux-musl
RUN command -v musl-gcc > /dev/null \
    || (apt-get update -q && apt-get install -q -y --no-install-recommends musl-tools)
RUN rustup target list --installed | grep -qx "$TARGET" || rustup target add "$TARGET"
WORKDIR /build
# Not rust-toolchain.toml: the tag above is the compiler, and the file would have others fetched.
COPY Cargo.toml Cargo.lock ./
COPY src src
COPY schemas schemas
COPY skill skill
COPY docs docs
COPY tests/corpus tests/corpus
# Paths of the build machine stay out of the binary, so that the same source gives the same bytes.
RUN CARGO_PROFILE_RELEASE_DEBUG=none RUSTFLAGS="--remap-path-prefix=/build=. --remap-path-prefix=${CARGO_HOME:-/root/.cargo}=cargo" \
    cargo build --release --locked --bin qa-skill --target "$TARGET" \
    && install -D -m 0755 "target/$TARGET/release/qa-skill" /image/qa-skill \
    && install -D -m 0644 /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/certs/ca-certificates.crt \
    && install -d -m 1777 /image/tmp
# Does it start, and does it start without anything around it?
RUN /image/qa-skill --version && chroot /image /qa-skill schema > /dev/null

FROM scratch
LABEL org.opencontainers.image.title="qa-skill" \
      org.opencontainers.image.description="A deterministic pull-request gate whose verdict can be replayed byte for byte" \
      org.opencontainers.image.licenses="MIT OR Apache-2.0"
COPY --from=build /image /
# GitHub runs actions as root and mounts a workspace of another user; docs/action.md says why that is safe here.
ENTRYPOINT ["/qa-skill"]
