"use strict";
// Patches an open page with what the server sends, sends answers, and knows the keys. Everything works without it.
(() => {
  const body = document.body;
  const $ = (id) => document.getElementById(id);
  const policy = window.trustedTypes ? trustedTypes.createPolicy("ui", { createHTML: (html) => html }) : { createHTML: (html) => html };
  const said = (id, text) => { const at = $(id); if (at && at.textContent !== text) at.textContent = text; };

  // ---- times: counted on here, so that no server has to send them
  const UNITS = [["d", 86400], ["h", 3600], ["min", 60]];
  const age = (seconds) => {
    for (const [unit, length] of UNITS) if (seconds >= length) return `${Math.floor(seconds / length)} ${unit}`;
    return `${Math.max(0, Math.floor(seconds))} s`;
  };
  const two = (number) => String(number).padStart(2, "0");
  const clock = (seconds) => {
    const left = Math.max(0, Math.floor(seconds)), hours = Math.floor(left / 3600), minutes = Math.floor(left % 3600 / 60);
    return hours ? `${hours}:${two(minutes)}:${two(left % 60)}` : `${minutes}:${two(left % 60)}`;
  };
  let live = true;
  const tick = () => {
    if (!live) return;
    const now = Date.now() / 1000;
    for (const at of document.querySelectorAll("time[data-since], time[data-until]")) {
      const text = at.dataset.since ? age(now - at.dataset.since) : clock(at.dataset.until - now);
      if (at.textContent !== text) at.textContent = text;
    }
  };
  setInterval(tick, 1000);

  // ---- patches: what differs is written, and nothing that a person has opened, typed or focused is lost
  const KEPT = new Set(["open", "checked", "value"]);
  const fragment = (html) => { const box = document.createElement("template"); box.innerHTML = policy.createHTML(html); return box.content.firstElementChild; };
  const morph = (old, now) => {
    for (const each of [...old.attributes]) if (!now.hasAttribute(each.name) && !KEPT.has(each.name)) old.removeAttribute(each.name);
    for (const each of now.attributes) if (!KEPT.has(each.name) && old.getAttribute(each.name) !== each.value) old.setAttribute(each.name, each.value);
    const before = [...old.childNodes], after = [...now.childNodes];
    after.forEach((node, at) => {
      const known = before[at];
      if (!known) old.append(node);
      else if (known.nodeType !== node.nodeType || known.nodeName !== node.nodeName) known.replaceWith(node);
      else if (node.nodeType !== 1) { if (known.data !== node.data) known.data = node.data; }
      else if (node.nodeName !== "TIME" || known.dateTime !== node.dateTime) morph(known, node);
    });
    before.slice(after.length).forEach((node) => node.remove());
  };
  const fresh = new Map();
  let waiting = null;
  const isHeld = (list) => list.matches(":hover") || list.contains(document.activeElement);
  const arrange = (lists) => {
    const shown = Object.keys(lists).map($).filter(Boolean);
    const moves = shown.some((list) => [...list.querySelectorAll(":scope > .row")].map((row) => row.id).join() !== lists[list.id].join());
    if (moves && shown.some(isHeld)) { waiting = { ...waiting, ...lists }; return; }
    waiting = null;
    for (const list of shown) for (const id of lists[list.id]) {
      const row = $(id) || fresh.get(id);
      if (row) list.append(row);
      fresh.delete(id);
    }
    const kept = new Set(Object.values(lists).flat());
    for (const list of shown) {
      for (const row of list.querySelectorAll(":scope > .row")) if (!kept.has(row.id)) row.remove();
      const count = list.querySelectorAll(":scope > .row").length;
      const label = list.querySelector("[data-count]");
      if (label) label.textContent = count;
      list.hidden = !count;
    }
  };
  let order = {};
  const apply = (patch) => {
    for (const [id, html] of Object.entries(patch.html || {})) {
      const old = $(id), now = fragment(id.startsWith("row-") ? `<table><tbody>${html}</tbody></table>` : html);
      const found = id.startsWith("row-") ? now.querySelector("tr") : now;
      if (id === "card" && old && old.hasAttribute("data-final")) continue;
      if (old) morph(old, found);
      else if (id.startsWith("row-")) fresh.set(id, found);
      if (old && id === "card" && found.hasAttribute("data-final")) finished();
    }
    if (patch.lists) { order = { ...order, ...patch.lists }; arrange(order); }
    if (patch.title) document.title = patch.title;
    if (patch.said) said("said", patch.said);
    const icon = document.querySelector("link[rel=icon]"), need = $("badge-top");
    if (icon && need) { const wanted = need.hidden ? icon.dataset.plain : icon.dataset.need; if (icon.getAttribute("href") !== wanted) icon.setAttribute("href", wanted); }
    guard(); tick();
  };
  const settle = () => { if (waiting) requestAnimationFrame(() => waiting && arrange(order)); };
  document.addEventListener("pointerout", settle);
  document.addEventListener("focusout", settle);

  // ---- the stream, and the page that is not live
  let heard = Date.now(), stream = null, lateTimer = 0, left = "";
  const guard = () => {
    for (const form of document.querySelectorAll("form[data-answer]")) {
      const note = form.querySelector(".offline"), off = !live || form.hasAttribute("aria-busy");
      for (const button of form.querySelectorAll("button")) button.disabled = off;
      if (note) note.hidden = live;
    }
  };
  const show = (is) => {
    if (is === live && !$("live").hidden) return;
    live = is;
    $("live").hidden = false;
    $("live").classList.toggle("not", !is);
    $("live").querySelector(".live-text").textContent = is ? "Live" : left === "tab-limit" ? "Paused" : "Not live";
    clearTimeout(lateTimer);
    if (is) $("late").hidden = true;
    else if (left !== "tab-limit") lateTimer = setTimeout(() => { $("late").hidden = false; $("late-text").textContent = `What you see is from ${new Date(heard).toLocaleTimeString()}. Agents keep working.`; }, 5000);
    guard(); tick();
  };
  const open = () => {
    if (stream) stream.close();
    left = "";
    stream = new EventSource(body.dataset.events);
    const news = () => { heard = Date.now(); show(true); };
    stream.addEventListener("beat", news);
    stream.addEventListener("patch", (event) => {
      news();
      const patch = JSON.parse(event.data);
      if ("empty" in body.dataset && patch.html && /class="glyph (need|failed)"/.test(patch.html.queue || "")) { location.reload(); return; }
      requestAnimationFrame(() => apply(patch));
    });
    stream.addEventListener("bye", (event) => {
      left = JSON.parse(event.data).reason;
      if (left === "signed-out") { location.href = "/ui/sign-in"; return; }
      if (left === "tab-limit") stream.close();
      show(false);
    });
    stream.onerror = () => show(false);
  };
  if (body.dataset.events) {
    open();
    setInterval(() => { if (Date.now() - heard > 20000) show(false); }, 2000);
    addEventListener("focus", () => { if (left === "tab-limit") open(); });
    addEventListener("pagehide", () => stream.close());
    addEventListener("pageshow", (event) => { if (event.persisted) open(); });
  }

  // ---- answers: no success is shown before the server has said so
  const finished = () => { const receipt = $("receipt"); if (receipt) { said("told", receipt.textContent.trim()); if (body.contains(document.activeElement) && document.activeElement !== body) receipt.focus({ preventScroll: true }); } };
  const problem = (form, text) => {
    let at = form.querySelector(".problem");
    if (!at) { at = document.createElement("p"); at.className = "problem"; at.setAttribute("role", "alert"); form.prepend(at); }
    at.textContent = text;
  };
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (!form.matches("form[data-answer]")) return;
    event.preventDefault();
    if (form.hasAttribute("aria-busy") || !live) return;
    const data = new FormData(form, event.submitter), wish = event.submitter ? event.submitter.value : "";
    if (form.dataset.wish !== wish) { form.dataset.wish = wish; form.dataset.once = crypto.randomUUID ? crypto.randomUUID() : String(Math.random()).slice(2); }
    data.set("key", form.dataset.once);
    form.setAttribute("aria-busy", "true"); guard();
    try {
      const answer = await fetch(form.action, { method: "POST", headers: { accept: "application/json" }, body: new URLSearchParams(data), redirect: "error" });
      const told = await answer.json();
      form.removeAttribute("aria-busy");
      const card = $("card");
      if (told.html && card && told.state) { card.removeAttribute("data-final"); apply({ html: { card: told.html } }); $("receipt")?.focus({ preventScroll: true }); }
      else if (told.html && card && answer.status === 409) apply({ html: { card: told.html } });
      else problem(form, told.sentence || told.error || "The server refused this.");
    } catch {
      form.removeAttribute("aria-busy");
      problem(form, "Not sent: the server cannot be reached. Nothing was approved.");
    }
    guard();
  });

  // ---- keys: a letter moves the focus, Enter acts
  const dialog = $("keys");
  if (!dialog) return;
  let on = true;
  try { on = localStorage.getItem("keys") !== "off"; } catch { /* a browser may forbid it */ }
  $("keys-on").checked = on;
  $("keys-on").addEventListener("change", (event) => { on = event.target.checked; try { localStorage.setItem("keys", on ? "on" : "off"); } catch { /* as above */ } });
  $("keys-button").hidden = false;
  $("keys-button").addEventListener("click", () => dialog.showModal());
  $("keys-close").addEventListener("click", () => dialog.close());
  const began = performance.now();
  let lastLetter = -1e9, after = "", armed = null, letGo = 0;
  const disarm = () => { if (!armed) return; clearTimeout(letGo); const hint = armed.querySelector(".press"); if (hint) hint.hidden = true; armed = null; };
  const arm = (button) => {
    disarm(); armed = button; button.focus();
    const hint = button.querySelector(".press");
    if (hint) hint.hidden = false;
    letGo = setTimeout(() => { const was = armed; disarm(); if (was) was.blur(); }, 6000);
  };
  document.addEventListener("focusout", (event) => { if (event.target === armed) disarm(); });
  const links = () => [...document.querySelectorAll("main a.name, main a.item")].filter((link) => link.offsetParent);
  const step = (by) => { const all = links(), at = all.indexOf(document.activeElement); const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + by))]; if (next) next.focus(); };
  const goTo = (path) => { location.href = path; };
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey || dialog.open) return;
    if (armed && event.key !== "Enter") { const was = armed; disarm(); was.blur(); if (event.key === " ") { event.preventDefault(); return; } }
    if (event.target.closest("input, textarea, select, [contenteditable]")) { if (event.key === "Escape") event.target.blur(); return; }
    if (event.key === "Escape") { if (document.activeElement) document.activeElement.blur(); return; }
    if (event.key === "Enter" && event.repeat) { event.preventDefault(); return; }
    if (!on || event.key.length !== 1 || event.repeat) return;
    const now = performance.now(), key = event.key, alone = now - lastLetter > 700 && now - began > 700, before = after;
    lastLetter = now; after = "";
    if (before === "g" && key === "f") return goTo("/ui/fleet");
    if (before === "g" && key === "n") return goTo("/ui/needs-you");
    if (key === "g") { after = "g"; return; }
    if (key === "?") return dialog.showModal();
    if (key === "/" && $("filter")) { event.preventDefault(); $("filter").focus(); return; }
    if (key === "n") { const next = document.querySelector("[data-next]") || document.querySelector('.items:not(.done) .item:not([aria-current])'); return goTo(next ? next.href : "/ui/needs-you"); }
    if (key === "j" || key === "k") return step(key === "j" ? 1 : -1);
    const tab = "12345".indexOf(key), tabs = document.querySelectorAll("#tabs a");
    if (tab >= 0 && tabs[tab]) return goTo(tabs[tab].href);
    const button = alone && live ? document.querySelector(`#card [data-key="${key === "a" || key === "s" || key === "d" ? key : "-"}"]`) : null;
    if (!button || button.disabled) return;
    event.preventDefault();
    if (key === "d") { button.parentElement.open = true; button.parentElement.querySelector("textarea").focus(); } else arm(button);
  });
})();
