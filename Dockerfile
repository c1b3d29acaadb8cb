# docker build -t headlight . && docker run --rm -p 7860:7860 headlight
FROM python:3.11.13-slim-bookworm
RUN apt-get update && apt-get install --yes --no-install-recommends make && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home --uid 1000 headlight
WORKDIR /srv/headlight
ENV PIP_NO_CACHE_DIR=1

# The steps of `make run`, as root: the server cannot change its own code or what it imports. First what changes seldom, so
# that a change of the code installs nothing again.
COPY Makefile requirements.txt requirements.lock requirements-docs.txt ./
RUN make .venv/requirements LOCK=requirements.lock
RUN make .venv/installed-docs
COPY . .
RUN make setup
RUN make docs
RUN .venv/bin/python -m compileall -q app model # which the server could not write down

# Its user has a home, where models of the hub are kept.
USER headlight

# Strangers may reach a container: they open the models in the list, and no path or name of their own. By which names they
# reach it is not known here: `docker run -e HEADLIGHT_ALLOWED_HOSTS=headlight.example` says so.
ENV HEADLIGHT_ADDRESS=0.0.0.0 HEADLIGHT_PORT=7860 HEADLIGHT_ALLOWED_HOSTS=* STREAMLIT_SERVER_HEADLESS=true
EXPOSE 7860
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
    CMD [".venv/bin/python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:7860/_stcore/health')"]
CMD [".venv/bin/python", "-m", "headlight.app"]
