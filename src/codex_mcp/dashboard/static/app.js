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
  const clocks = () => { for (const at of document.querySelectorAll("time[data-at]")) { const text = new Date(at.dataset.at * 1000).toLocaleTimeString([], { hour12: false }); if (at.textContent !== text) at.textContent = text; } };
  clocks();

  for (const button of document.querySelectorAll("[data-without]")) { button.hidden = true; button.form.addEventListener("change", () => button.form.requestSubmit()); }

  // ---- patches: what differs is written, and nothing that a person has opened, typed or focused is lost
  const KEPT = new Set(["open", "checked", "value"]);
  const fragment = (html) => { const box = document.createElement("template"); box.innerHTML = policy.createHTML(html); return box.content.firstElementChild; };
  const morph = (old, now) => {
    if (old.dataset && "loaded" in old.dataset) return;
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
  let order = {}, writing = false;
  // Rows that are there are written a few in each frame: all of a large fleet at once would hold up whoever types or scrolls.
  const later = new Map(), A_FRAME = 17, isRow = (id) => id.startsWith("row-");
  const made = (rows) => [...fragment(`<table><tbody>${rows.map(([, html]) => html).join("")}</tbody></table>`).querySelectorAll(".row")];
  const writeRows = () => {
    const some = [...later].slice(0, document.hidden ? later.size : A_FRAME);
    for (const [id] of some) later.delete(id);
    for (const row of made(some)) { const old = $(row.id); if (old) morph(old, row); }
    writing = later.size > 0;
    if (writing) requestAnimationFrame(writeRows); else tick();
  };
  const apply = (patch) => {
    const all = Object.entries(patch.html || {}), parts = all.filter(([id]) => !isRow(id));
    const rows = all.filter(([id]) => isRow(id)), [known, unknown] = [rows.filter(([id]) => $(id)), rows.filter(([id]) => !$(id))];
    for (const row of unknown.length ? made(unknown) : []) fresh.set(row.id, row);
    for (const [id, html] of known) later.set(id, html);
    if (later.size && !writing) writeRows();
    for (const [id, html] of parts) {
      const old = $(id), found = fragment(html);
      if (id === "card" && old && old.hasAttribute("data-final") && !(found.hasAttribute("data-final") && found.querySelector("form"))) continue;
      if (old) morph(old, found);
      else if (STEP.test(id)) fresh.set(id, found);
      if (old && id === "card" && found.hasAttribute("data-final")) finished();
    }
    if (patch.lists) { order = { ...order, ...patch.lists }; arrange(order); }
    if (patch.turn) stepsTold(patch);
    if (beside && (patch.html?.[looked] || !$(looked))) lookAgain();
    if (patch.title) document.title = patch.title;
    if (patch.said) said("said", patch.said);
    mark(); guard(); tick(); clocks(); notify();
  };
  const mark = () => {
    const icon = document.querySelector("link[rel=icon]"), need = $("badge-top"), wanted = need && (need.hidden ? icon.dataset.plain : icon.dataset.need);
    if (wanted && icon.getAttribute("href") !== wanted) icon.setAttribute("href", wanted);
  };
  const settle = () => { if (waiting) requestAnimationFrame(() => waiting && arrange(order)); };
  document.addEventListener("pointerout", settle);
  document.addEventListener("focusout", settle);

  // ---- the stream, and the page that is not live
  let heard = Date.now(), stream = null, lateTimer = 0, left = "";
  const others = new BroadcastChannel("codex-mcp"), pending = [];
  const flush = () => { for (const patch of pending.splice(0)) apply(patch); };
  const guard = () => {
    for (const form of document.querySelectorAll("form[data-answer]")) {
      const note = form.querySelector(".offline"), off = !live || form.hasAttribute("aria-busy") || "silent" in form.dataset;
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
    const news = () => { heard = Date.now(); left = ""; show(true); };
    stream.addEventListener("beat", news);
    stream.addEventListener("patch", (event) => {
      news();
      const patch = JSON.parse(event.data);
      if ("empty" in body.dataset && (/class="glyph (need|failed)"/.test(patch.html?.queue || patch.html?.others || "") || Object.values(patch.lists || {}).flat().length)) { location.reload(); return; }
      pending.push(patch);
      if (document.hidden) flush(); else requestAnimationFrame(flush);  // a hidden page draws no frames, and has a title all the same
    });
    stream.addEventListener("bye", (event) => {
      left = JSON.parse(event.data).reason;
      if (left === "signed-out") { location.href = "/ui/sign-in"; return; }
      if (left === "tab-limit") stream.close();
      show(false);
    });
    stream.onerror = () => { show(false); if (stream.readyState === EventSource.CLOSED) setTimeout(revive, 2000); };
  };
  // The browser gives up for good if it is answered anything but a stream: by a proxy, or after the session has ended.
  const revive = async () => {
    const answer = await fetch("/ui/fleet.json", { redirect: "error" }).catch(() => null);
    if (answer && answer.status === 401) location.href = "/ui/sign-in"; else if (!left) open();
  };
  if (body.dataset.events) {
    open();
    setInterval(() => { if (!left && Date.now() - heard > 20000) show(false); }, 2000);
    // A hidden tab rests after a while; one of them goes on listening, and tells the others how many need somebody.
    let resting = 0, watch = null;
    const rest = () => {
      stream.close(); left = "hidden"; watch = new AbortController();
      const { signal } = watch;
      navigator.locks.request("codex-mcp", { signal }, () => new Promise((done) => { signal.onabort = done; open(); })).catch(() => {});
    };
    const back = () => { clearTimeout(resting); if (watch) { watch.abort(); watch = null; } if (left) open(); };
    document.addEventListener("visibilitychange", () => { if (!document.hidden) back(); else if (navigator.locks) resting = setTimeout(rest, 15000); });
    addEventListener("focus", back);
    others.onmessage = ({ data }) => {
      if (!left) return;
      for (const at of document.querySelectorAll("#badge-top, #badge-bottom")) { at.textContent = data; at.hidden = !data; }
      document.title = (data ? `(${data}) ` : "") + document.title.replace(/^\(\d+\) /, "");
      mark();
    };
    addEventListener("pagehide", () => stream.close());
    addEventListener("pageshow", (event) => { if (event.persisted) open(); });
  }

  // ---- the preview beside a wide fleet: of the row that was clicked or has the focus, else of the first one
  const beside = $("preview");
  let looked = "", looking = 0;
  const look = async (row, again) => {
    if (!beside || !row || (row.id === looked && !again) || innerWidth < 1181) return;
    looked = row.id;
    for (const each of document.querySelectorAll(".row")) each.classList.toggle("is-chosen", each === row);
    const answer = await fetch(`/ui/threads/codex:${row.id.slice(4)}/preview`, { redirect: "error" }).catch(() => null);
    if (answer && answer.ok && row.id === looked) { morph($("preview"), fragment(await answer.text())); tick(); }
  };
  const lookAgain = () => { looking ||= setTimeout(() => { looking = 0; look($(looked) || document.querySelector(".row"), true); }, 1000); };
  if (beside) {
    look(document.querySelector(".row"));
    for (const kind of ["focusin", "click"]) document.addEventListener(kind, (event) => look(event.target.closest?.(".row")));
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

  // ---- the transcript of a thread: steps are added at its end, and the page follows unless somebody reads further up
  const STEP = /^[sl][0-9a-f]{10}$/, MOST = 400;
  const talk = document.querySelector(".thread-talk"), pill = $("pill");
  let late = null, reading = 0;
  const atEnd = () => talk.getBoundingClientRect().bottom <= innerHeight + 80;
  const toEnd = () => talk.scrollIntoView({ block: "end" });
  const page = async (path) => (await fetch(path, { redirect: "error" })).text();
  const again = async () => {
    const parsed = new DOMParser().parseFromString(policy.createHTML(await page(location.pathname)), "text/html");
    const now = parsed.getElementById("transcript"), follow = atEnd();
    if (now) morph($("transcript"), document.importNode(now, true));
    if (follow) toEnd();
  };
  const countEarlier = () => {
    const first = $("steps").querySelector("li[data-n]"), n = first ? Number(first.dataset.n) : 0, link = $("earlier");
    if (link && n) {
      link.querySelector("[data-count]").textContent = n;
      for (const name of ["href", "data-part"]) link.setAttribute(name, link.getAttribute(name).replace(/before=\d+/, `before=${n}`));
    } else if (!link && n) again();
  };
  const stepsTold = (patch) => {
    const box = $("transcript"), list = $("steps");
    if (!box) return;
    if (!list || patch.turn !== box.dataset.last || box.dataset.turn !== box.dataset.last) { again(); return; }
    const keys = patch.steps || [], start = keys.findIndex((key) => $(key)), follow = atEnd();
    if (start < 0 && list.children.length && !follow) { late = patch; reading += keys.length; showPill(); return; }
    late = null;
    if (start < 0) list.replaceChildren();
    const kept = new Set(keys);
    let passed = false;
    for (const each of [...list.children]) { passed = passed || each.id === keys[Math.max(0, start)]; if (passed && !kept.has(each.id)) each.remove(); }
    for (const key of keys) {
      const known = $(key), now = fresh.get(key);
      if (!known && now) { list.append(now); if (!follow) reading += 1; } else if (known && known.parentNode === list && known !== list.lastChild && start >= 0) list.append(known);
      fresh.delete(key);
    }
    if (follow) { while (list.children.length > MOST) list.firstChild.remove(); toEnd(); }
    countEarlier(); showPill();
  };
  const showPill = () => { if (!pill) return; pill.hidden = !reading; pill.textContent = `↓ ${reading} new`; };
  if (talk && pill) {
    pill.addEventListener("click", () => { toEnd(); });
    addEventListener("scroll", () => { if (reading && atEnd()) { reading = 0; showPill(); if (late) stepsTold(late); } }, { passive: true });
    const last = [...document.querySelectorAll(".step.says")].pop();
    if (!location.hash && !location.search) { if (document.querySelector("#head .glyph.work")) toEnd(); else if (last) last.scrollIntoView({ block: "start" }); }
  }
  document.addEventListener("toggle", (event) => { if (event.target.matches("details.turn[open]")) { const link = event.target.querySelector(".body:not([data-loaded]) > a[data-part]"); if (link) link.click(); } }, true);
  document.addEventListener("click", async (event) => {
    const link = event.target.closest("a[data-part]");
    if (!link || event.metaKey || event.ctrlKey) return;
    event.preventDefault();
    const found = fragment(await page(link.dataset.part)), inner = found.querySelector("#earlier"), list = $("steps");
    if (link.id === "earlier" && list) {
      const before = document.documentElement.scrollHeight;
      list.prepend(...found.querySelector("ol").children);
      if (inner) link.replaceWith(inner); else link.remove();
      scrollBy(0, document.documentElement.scrollHeight - before);
    } else { if (inner) inner.removeAttribute("id"); const body = link.closest(".body"); body.dataset.loaded = ""; body.replaceChildren(found); }
  });

  // ---- a comment on a line of a diff: the form of its file moves below the line
  for (const code of document.querySelectorAll(".file > .code")) {
    const remark = code.parentElement.querySelector(".remark");
    if (!remark) continue;
    code.classList.add("can-comment");
    code.addEventListener("click", (event) => {
      const line = event.target.closest("[data-n]");
      if (!line || String(getSelection())) return;
      const { elements } = remark.querySelector("form");
      elements.line.value = line.dataset.n; elements.code.value = line.textContent;
      line.after(remark); remark.open = true; elements.comment.focus();
    });
  }

  // ---- writing to an agent
  const write = $("write"), DRAFT = `draft ${location.pathname.split("/")[3] || ""}`;
  if (write) {
    try { if (!write.value) write.value = sessionStorage.getItem(DRAFT) || ""; } catch { /* a browser may forbid it */ }
    write.addEventListener("input", () => { try { sessionStorage.setItem(DRAFT, write.value); } catch { /* as above */ } });
    write.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) { event.preventDefault(); write.form.requestSubmit(write.form.querySelector("[data-send]")); } });
  }
  const sentence = (form, text) => {
    const composer = $("composer");
    let at = composer.querySelector(":scope > .said");
    if (!at) { at = document.createElement("p"); at.className = "said"; composer.prepend(at); }
    at.textContent = text; said("told", text);
  };
  document.addEventListener("submit", async (event) => {
    const form = event.target, button = event.submitter;
    if (!form.matches("form[data-act], form[data-say]") || (button && button.hasAttribute("formaction"))) return;
    event.preventDefault();
    if (form.hasAttribute("aria-busy")) return;
    form.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(form.action, { method: "POST", headers: { accept: "application/json" }, body: new URLSearchParams(new FormData(form, button)), redirect: "error" });
      const told = await answer.json();
      if (form.matches("[data-act]")) { sentence(form, told.sentence || told.error); const menu = form.closest("details"); if (menu) menu.open = false; }
      else if (told.ok) {
        form.querySelector(".problem")?.remove(); form.querySelector(".comments")?.remove();
        form.elements.request_id.value = told.key; write.value = ""; write.required = true;
        try { sessionStorage.removeItem(DRAFT); } catch { /* as above */ }
        sentence(form, told.sentence);
      } else problem(form, told.sentence || told.error);
    } catch { problem(form, "Not sent: the server cannot be reached. Your text is kept."); }
    form.removeAttribute("aria-busy");
  });

  // ---- notifications: asked for by a button, for agents that begin to need somebody, and only while nobody looks
  const bell = $("notify-button"), needed = () => { const at = $("badge-top"); return at && !at.hidden ? Number(at.textContent) : 0; };
  let before = needed(), shownAt = 0, notice = null, wanted = false;
  const badge = () => { if (navigator.setAppBadge) (before ? navigator.setAppBadge(before) : navigator.clearAppBadge()).catch(() => {}); };
  const notify = () => {
    const now = needed(), more = now > before;
    if (now === before) return;
    before = now; badge(); others.postMessage(now);
    if (notice && !now) { notice.close(); notice = null; }
    if (!more || !wanted || document.hasFocus() || Date.now() - shownAt < 10000) return;
    shownAt = Date.now();
    notice = new Notification(now === 1 ? "1 agent needs you" : `${now} agents need you`, { tag: "codex-mcp", body: document.title });
    notice.onclick = () => { window.focus(); location.href = "/ui/needs-you"; };
  };
  if (bell && "Notification" in window && isSecureContext) {
    const set = (is) => { wanted = is; bell.setAttribute("aria-pressed", is); try { localStorage.setItem("notify", is ? "on" : "off"); } catch { /* a browser may forbid it */ } };
    bell.hidden = false;
    try { if (localStorage.getItem("notify") === "on" && Notification.permission === "granted") set(true); } catch { /* as above */ }
    bell.addEventListener("click", async () => set(!wanted && await Notification.requestPermission() === "granted"));
  }
  badge();

  // ---- the palette: three letters of a name, then Enter
  const palette = $("palette");
  if (palette) {
    const text = $("palette-text"), list = $("palette-list"), all = [...list.children];
    let found = all, chosen = null;
    const choose = (option) => {
      if (chosen) chosen.setAttribute("aria-selected", "false");
      chosen = option || null;
      if (chosen) { chosen.setAttribute("aria-selected", "true"); chosen.scrollIntoView({ block: "nearest" }); }
      text.setAttribute("aria-activedescendant", chosen ? chosen.id : "");
    };
    const rank = (option, words) => { const name = option.dataset.name.toLowerCase(); return name.startsWith(words) ? 0 : name.includes(words) ? 1 : option.textContent.toLowerCase().includes(words) ? 2 : 3; };
    const filter = () => {
      const words = text.value.trim().toLowerCase();
      found = all.map((option) => [rank(option, words), option]).filter(([at]) => at < 3).sort((one, other) => one[0] - other[0]).map(([, option]) => option);
      for (const option of all) option.hidden = !found.includes(option);
      for (const option of found) list.append(option);
      choose(found[0]);
    };
    const jump = () => { text.value = ""; filter(); palette.showModal(); text.focus(); };
    const go = (option) => { if (option) location.href = option.dataset.href; };
    text.addEventListener("input", filter);
    text.addEventListener("keydown", (event) => {
      const at = found.indexOf(chosen);
      if (event.key === "ArrowDown") choose(found[Math.min(found.length - 1, at + 1)]);
      else if (event.key === "ArrowUp") choose(found[Math.max(0, at - 1)]);
      else if (event.key === "Enter") go(chosen);
      else return;
      event.preventDefault();
    });
    list.addEventListener("click", (event) => go(event.target.closest("li")));
    palette.addEventListener("click", (event) => { if (event.target === palette) palette.close(); });
    $("jump-button").hidden = false;
    $("jump-button").addEventListener("click", jump);
    document.addEventListener("keydown", (event) => { if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) { event.preventDefault(); if (!palette.open) jump(); } });
  }

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
    if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (armed && event.key !== "Enter") { const was = armed; disarm(); was.blur(); if (event.key === " ") { event.preventDefault(); return; } }
    if (event.target.closest("input, textarea, select, [contenteditable]")) { if (event.key === "Escape") event.target.blur(); return; }
    if (event.key === "Escape") { if (document.activeElement) document.activeElement.blur(); return; }
    if (event.key === "Enter" && event.repeat) { event.preventDefault(); return; }
    if (!on || event.key.length !== 1 || event.repeat) return;
    const now = performance.now(), key = event.key, alone = now - lastLetter > 700 && now - began > 700, before = after;
    const typing = now - lastLetter <= 700 && before !== "g" && key !== "j" && key !== "k";  // somebody writes, and not to us
    lastLetter = now; after = "";
    if (typing) return;
    if (before === "g" && key === "f") return goTo("/ui/fleet");
    if (before === "g" && key === "n") return goTo("/ui/needs-you");
    if (before === "g" && key === "m") return goTo("/ui/mail");
    if (before === "g" && key === "e") return goTo("/ui/executors");
    if (before === "g" && key === "h") return goTo("/ui/health");
    if (key === "c" && $("text")) { event.preventDefault(); $("text").focus(); return; }
    if (key === "g") { after = "g"; return; }
    if (key === "?") return dialog.showModal();
    if (key === "/" && $("filter")) { event.preventDefault(); $("filter").focus(); return; }
    if (key === "n") { const next = document.querySelector("[data-next]") || document.querySelector('.items:not(.done) .item:not([aria-current])'); return goTo(next ? next.href : "/ui/needs-you"); }
    if (key === "j" || key === "k") return step(key === "j" ? 1 : -1);
    if (key === "o" && document.querySelector("[data-thread]")) return goTo(document.querySelector("[data-thread]").href);
    if (key === "r" && write) { event.preventDefault(); write.focus(); return; }
    if ((key === "t" || key === "v") && document.querySelectorAll(".parts a")[key === "t" ? 0 : 1]) return goTo(document.querySelectorAll(".parts a")[key === "t" ? 0 : 1].href);
    if ((key === "[" || key === "]") && $("roster")) { const all = [...$("roster").querySelectorAll("a")], at = all.findIndex((link) => link.hasAttribute("aria-current")), next = all[at + (key === "]" ? 1 : -1)]; if (next) goTo(next.href); return; }
    const tab = "12345".indexOf(key), tabs = document.querySelectorAll("#tabs a");
    if (tab >= 0 && tabs[tab]) return goTo(tabs[tab].href);
    const button = alone && live ? document.querySelector(`#card [data-key="${key === "a" || key === "s" || key === "d" ? key : "-"}"]`) : null;
    const acts = button || (alone && key === "i" ? document.querySelector('#head [data-key="i"]') : null);
    if (acts && !button) { event.preventDefault(); return arm(acts); }
    if (!button || button.disabled) return;
    event.preventDefault();
    if (key === "d") { button.parentElement.open = true; button.parentElement.querySelector("textarea").focus(); } else arm(button);
  });
})();
