// Keeps an open page true: parts of it are replaced as the server sends them. Without it, every form works.
import { follow } from "./live.js";
import { localTimes } from "./times.js";
import { scrubber } from "./scrubber.js";

const count = document.querySelector("[data-count]");
const refreshed = document.querySelector("[data-refresh]");
const csrf = document.querySelector("meta[name=csrf]")?.content ?? "";
const title = document.title;
let waiting = null;

async function refresh() {
  const answer = await fetch(refreshed.dataset.refresh);
  if (!answer.ok) return;
  refreshed.innerHTML = await answer.text();
  localTimes(refreshed);
  if (refreshed.querySelector("[data-decided]")) {
    document.querySelector("[data-answers]")?.remove();
  }
}

if (count) {
  follow(`${document.body.dataset.root}/events`, (parts) => {
    if ("count" in parts) {
      count.textContent = parts.count;
      document.title = `${parts.count ? `(${parts.count}) ` : ""}${title}`;
    }
    if ("waiting" in parts) {
      if (waiting !== null && refreshed) refresh();
      waiting = parts.waiting;
    }
  });
}

const live = document.querySelector("[data-live]");
if (live) {
  const looking = scrubber(live);
  looking.replace = replace;
  follow(live.dataset.live, (parts) => {
    if ("seq" in parts) looking.reach(Number(parts.seq));
    if (!looking.back) replace(parts);
  });
}

function replace(parts) {
  for (const [name, html] of Object.entries(parts)) {
    const place = live.querySelector(`[data-part="${name}"]`);
    if (!place) continue;
    const open = [...place.querySelectorAll("details[open]")].map((each) => each.id);
    const focused = place.contains(document.activeElement) ? document.activeElement.closest("[id]")?.id : null;
    const left = place.firstElementChild?.scrollLeft ?? 0;
    place.innerHTML = html;
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    if (focused) document.getElementById(focused)?.querySelector("summary")?.focus();
    if (left && place.firstElementChild) place.firstElementChild.scrollLeft = left;
    for (const field of place.querySelectorAll("[name=csrf]")) field.value = csrf;
    localTimes(place);
  }
}

// What is long is loaded when it is opened.
for (const box of document.querySelectorAll("details[data-load]")) {
  box.addEventListener("toggle", async () => {
    if (!box.open) return;
    const answer = await fetch(box.dataset.load);
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    box.querySelector(".loaded").replaceChildren(...page.querySelector("[data-fragment]").childNodes);
  });
}

// A form is sent once; a second click sends nothing.
for (const form of document.querySelectorAll("form[data-once]")) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "yes";
  });
}
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-once]")) delete form.dataset.sent;
});

// A box of the picture opens its step.
document.addEventListener("click", (event) => {
  const step = event.target.closest?.(".plan a.step");
  const target = step && document.getElementById(step.getAttribute("href").slice(1));
  if (target?.tagName === "DETAILS") target.open = true;
});

localTimes(document);
