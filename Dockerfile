# Two images. The action's, which is built without `--target`: one static binary, the certificates it trusts, and nothing
# else; `make image`. And `--target full`, with what gates run besides; `make image-full`.

# The tag names one compiler, the one of rust-toolchain.toml. A release writes the digest that it stands for behind it.
FROM docker.io/library/rust:1.95.0-bookworm AS build
ARG SOURCE_DATE_EPOCH=0
RUN command -v musl-gcc > /dev/null \
    || (apt-get update -q && apt-get install -q -y --no-install-recommends musl-tools)
# Each image is built on a machine of its architecture, which names the target.
RUN target="$(uname -m)-unknown-linux-musl" \
    && (rustup target list --installed | grep -qx "$target" || rustup target add "$target")
WORKDIR /build
# Not rust-toolchain.toml: the tag above is the compiler, and the file would have others fetched.
COPY Cargo.toml Cargo.lock SKILL.md ./
COPY crates crates
COPY src src
COPY schemas schemas
COPY skill skill
COPY docs docs
COPY tests/corpus tests/corpus
# Paths of the build machine stay out of the binary, so that the same source gives the same bytes.
# Relocations are packed: they are a fiftieth of the image otherwise.
RUN target="$(uname -m)-unknown-linux-musl" \
    && CARGO_PROFILE_RELEASE_DEBUG=none RUSTFLAGS="--remap-path-prefix=/build=. --remap-path-prefix=${CARGO_HOME:-/root/.cargo}=cargo -C link-arg=-Wl,-z,pack-relative-relocs" \
    cargo build --release --locked --no-default-features --bin qa-skill --target "$target" \
    && install -D -m 0755 "target/$target/release/qa-skill" /image/qa-skill \
    && install -D -m 0644 /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/certs/ca-certificates.crt \
    && install -d -m 1777 /image/tmp
# Does it start, does it start without anything around it, and is it without fault injection?
RUN ! grep -q QA_FAULTS /image/qa-skill && /image/qa-skill --version && chroot /image /qa-skill schema > /dev/null

# Node and npm of one release, on Debian. The tag names the release; packages of Debian come as the distribution has them
# when the image is built, security updates included, and a release lists them.
FROM docker.io/library/node:24.21.0-bookworm-slim AS full
LABEL org.opencontainers.image.title="qa-skill with tools for gates" \
      org.opencontainers.image.description="A deterministic pull-request gate, with node, python and a browser to run gates with" \
      org.opencontainers.image.licenses="MIT OR Apache-2.0"
# The browser is the shell without windows: the other one wants a socket of its own to see whether it runs already, and
# commands of gates have none. Without a font, pictures of pages have no text.
RUN apt-get update -q \
    && apt-get install -q -y --no-install-recommends \
        ca-certificates chromium-headless-shell fonts-liberation git python3 python3-venv \
    && apt-get clean && rm -rf /var/lib/apt/lists/*
# Tools that need nothing of the project they look at. What tests import (vitest, jest, playwright) is the project's own,
# and where a project brings any tool itself, that one is used.
COPY image/tools /usr/local/lib/qa-skill/tools
RUN cd /usr/local/lib/qa-skill/tools \
    && npm ci --ignore-scripts --no-audit --no-fund \
    && python3 -m venv python \
    && python/bin/pip install --no-cache-dir --no-deps --only-binary :all: --require-hashes --requirement requirements.txt \
    && for tool in node_modules/.bin/eslint node_modules/.bin/tsc python/bin/mypy python/bin/pytest python/bin/ruff; do \
        ln -s "$PWD/$tool" /usr/local/bin/; done \
    && rm -rf "$HOME/.npm" "$HOME/.cache"
COPY --from=build /image/qa-skill /qa-skill
RUN ln -s /qa-skill /usr/local/bin/qa-skill \
    && for tool in qa-skill chromium-headless-shell eslint git mypy node npm pytest python3 ruff tsc; do \
        echo "$tool" && "$tool" --version || exit 1; done
ENTRYPOINT ["/qa-skill"]

FROM scratch
LABEL org.opencontainers.image.title="qa-skill" \
      org.opencontainers.image.description="A deterministic pull-request gate whose verdict can be replayed byte for byte" \
      org.opencontainers.image.licenses="MIT OR Apache-2.0"
COPY --from=build /image /
# GitHub runs actions as root and mounts a workspace of another user; docs/action.md says why that is safe here.
ENTRYPOINT ["/qa-skill"]
