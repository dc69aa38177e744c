// The status from the server, twice a second, for as long as the page is open.

const TIMEOUT = 5000;

export function connect(onStatus, onConnection) {
  let source = null;
  let received = Date.now();

  function open() {
    received = Date.now();
    source = new EventSource("api/v1/stream");
    source.addEventListener("status", (event) => {
      received = Date.now();
      onConnection("live");
      onStatus(JSON.parse(event.data));
    });
    source.addEventListener("error", () => onConnection("lost"));
  }

  // The browser reconnects after most errors, but not after an HTTP error, and not if the connection was
  // dropped without a close: reconnect here.
  setInterval(() => {
    if (Date.now() - received < TIMEOUT) return;
    onConnection("lost");
    source.close();
    open();
  }, 1000);
  open();
}
