FROM python:3.12-slim
COPY . /source
RUN pip install --no-cache-dir "/source[postgres,metrics,mcp]" && rm -r /source && useradd --create-home planwright
USER planwright
RUN mkdir -p /home/planwright/.local/state
WORKDIR /workspace
ENTRYPOINT ["planwright"]
CMD ["worker"]
