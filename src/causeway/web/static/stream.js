// Moments from the server, twice a second, for as long as the page is open.

const SILENCE = 5000;

export function watch(onMoment, onState) {
  let source = null;
  let heard = Date.now();

  function open() {
    heard = Date.now();
    source = new EventSource("api/v1/stream");
    source.addEventListener("moment", (event) => {
      heard = Date.now();
      onState("live");
      onMoment(JSON.parse(event.data));
    });
    source.addEventListener("error", () => onState("lost"));
  }

  // The browser comes back by itself after an error. Not after a refusal, and not where a connection
  // is gone without a word: then it is begun anew here.
  setInterval(() => {
    if (Date.now() - heard < SILENCE) return;
    onState("lost");
    source.close();
    open();
  }, 1000);
  open();
}
