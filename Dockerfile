# One image, one program per container: `docker run taximeter collector`.
FROM python:3.11-slim AS build
RUN pip install --no-cache-dir uv==0.13.9
WORKDIR /app
COPY pyproject.toml uv.lock README.md LICENSE ./
COPY taximeter taximeter
COPY collector collector
COPY warehouse warehouse
COPY planner planner
COPY alerts alerts
COPY dashboard dashboard
RUN uv sync --frozen --no-editable --no-default-groups

FROM python:3.11-slim
RUN useradd --create-home --uid 10001 taximeter && install -d -o taximeter /data
COPY --from=build /app/.venv /app/.venv
ENV PATH=/app/.venv/bin:$PATH TAXIMETER_DATA=/data PYTHONUNBUFFERED=1
USER taximeter
WORKDIR /home/taximeter
VOLUME /data
ENTRYPOINT ["taximeter"]
CMD ["--help"]
