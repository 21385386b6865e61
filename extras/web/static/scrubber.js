// Look back over a run: the server draws it as it stood after any of its events.
export function scrubber(live) {
  const looking = { back: false, replace: () => {}, reach: () => {} };
  const box = live.querySelector("[data-scrub]");
  if (!box) return looking;
  const range = box.querySelector("input");
  const output = box.querySelector("output");
  const now = box.querySelector("[data-now]");
  let newest = 0;

  looking.reach = (seq) => {
    range.max = seq;
    if (!looking.back) range.value = seq;
  };

  async function look() {
    const seq = Number(range.value);
    const mine = ++newest;
    looking.back = seq < Number(range.max);
    output.textContent = looking.back ? `event ${seq} of ${range.max}` : "now";
    now.hidden = !looking.back;
    live.classList.toggle("looking-back", looking.back);
    const answer = await fetch(`${box.dataset.scrub}${looking.back ? seq : 2 ** 31}`);
    if (!answer.ok || mine !== newest) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const parts = {};
    for (const part of page.querySelectorAll("[data-part]")) parts[part.dataset.part] = part.innerHTML;
    looking.replace(parts);
  }

  range.addEventListener("input", look);
  now.addEventListener("click", () => {
    range.value = range.max;
    look();
    range.focus();
  });
  return looking;
}
