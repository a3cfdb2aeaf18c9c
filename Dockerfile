# Docker image of hearsay. Build and run:
#   docker build -t hearsay .
#   docker run --rm --shm-size=1g -v "$PWD/results:/hearsay/results" hearsay python bench/run.py -m algo=dnasa,dsgt
FROM debian:bookworm-slim

RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates make openssh-client python3 python3-venv \
 && rm -rf /var/lib/apt/lists/*

WORKDIR /hearsay
COPY . .
RUN make install
ENV PATH=/hearsay/.venv/bin:$PATH
CMD ["python", "bench/run.py", "--help"]
