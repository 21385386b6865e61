// Times as the reader's clock has them; the server writes UTC.
const near = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const units = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

function until(date) {
  const seconds = (date - Date.now()) / 1000;
  const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) ?? units.at(-1);
  return relative.format(Math.trunc(seconds / size), unit);
}

export function localTimes(root, which = "time[datetime]") {
  for (const time of root.querySelectorAll(which)) {
    const date = new Date(time.dateTime);
    if (Number.isNaN(date.valueOf())) continue;
    if ("seconds" in time.dataset) time.textContent = `${Math.max(0, Math.floor((Date.now() - date) / 1000))} s`;
    else time.textContent = "until" in time.dataset ? until(date) : near.format(date);
    time.title = `${time.dateTime.slice(0, 19).replace("T", " ")} UTC`;
  }
}

setInterval(() => localTimes(document), 15000);

// Whole seconds since something began, while it goes on.
setInterval(() => localTimes(document, "time[data-seconds]"), 1000);
