# The program and its tests in a container; CUDA is compiled in, a GPU is not needed.
#   docker build -t isinglass .
#   docker run --rm isinglass sample --list
#   docker run --rm --gpus all -v "$PWD/runs:/isinglass/runs" isinglass train --dataset strokes …
FROM debian:12
WORKDIR /isinglass
COPY . .
RUN PIP_NO_CACHE_DIR=1 scripts/build.sh && rm -rf /var/lib/apt/lists/*
ENV NVIDIA_DRIVER_CAPABILITIES=compute,utility
ENTRYPOINT ["/isinglass/build/isinglass"]
