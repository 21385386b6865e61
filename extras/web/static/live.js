// Server-sent events, while the page can be seen: a browser keeps few connections to one server.
export function follow(url, hear) {
  let source = null;
  const open = () => {
    source ??= new EventSource(url);
    source.onmessage = (event) => hear(JSON.parse(event.data));
  };
  const close = () => {
    source?.close();
    source = null;
  };
  const look = () => (document.hidden ? close() : open());
  const stop = () => {
    document.removeEventListener("visibilitychange", look);
    close();
  };
  document.addEventListener("visibilitychange", look);
  addEventListener("pagehide", close);
  look();
  return stop;
}
