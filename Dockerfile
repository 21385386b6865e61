FROM python:3.12-slim
COPY . /source
RUN pip install --no-cache-dir "/source[postgres,metrics,mcp]" && rm -r /source && useradd --create-home planwright
USER planwright
WORKDIR /workspace
ENTRYPOINT ["planwright"]
CMD ["worker"]
