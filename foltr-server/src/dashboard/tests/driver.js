"use strict";
// What an operator does and sees, page after page; reports what is wrong.
(async () => {
  const say = (faults) => fetch("/test/verdict", { method: "POST", body: faults.join("\n") });
  const faults = JSON.parse(sessionStorage.getItem("faults") || "[]");
  const keep = () => sessionStorage.setItem("faults", JSON.stringify(faults));
  const check = (holds, fault) => { if (!holds) { faults.push(fault); keep(); } };
  const step = Number(sessionStorage.getItem("step") || "0");
  const next = () => sessionStorage.setItem("step", String(step + 1));
  const find = (selector) => document.querySelector(selector);
  const text = () => document.body.textContent;
  const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
  const until = async (holds, fault) => {
    for (let n = 0; n < 150 && !holds(); n++) await pause(100);
    check(holds(), fault);
  };
  addEventListener("securitypolicyviolation", (event) => check(false, `policy: ${event.violatedDirective} ${event.blockedURI}`));
  addEventListener("error", (event) => check(false, `script: ${event.message}`));
  addEventListener("unhandledrejection", (event) => check(false, `script: ${event.reason}`));

  const steps = [
    () => {
      check(location.pathname === "/login", `at ${location.pathname} instead of the login`);
      find("#token").value = "0".repeat(64);
      next();
      find("form button.main").click();
    },
    () => {
      check(text().includes("token is wrong"), "a wrong token is not refused");
      find("#token").value = TOKEN;
      next();
      find("form button.main").click();
    },
    async () => {
      check(find("h1").textContent.includes("wards"), "no federation is shown");
      check(document.cookie.indexOf("foltr_session") < 0, "scripts can read the session");
      check(getComputedStyle(find(".status")).borderTopWidth === "4px", "no style");
      const note = find("#note"), device = find("#device"), row = find("tbody tr"), fact = find(".facts dd");
      const before = fact.textContent;
      note.value = "Ward 9";
      device.closest("details").open = true;
      note.focus();
      note.setSelectionRange(1, 3);
      await until(() => fact.textContent !== before, "the live part does not change");
      check(fact.isConnected && row.isConnected && find("#note") === note, "nodes were replaced");
      check(document.activeElement === note && note.selectionStart === 1 && note.value === "Ward 9", "input or focus is lost");
      check(device.closest("details").open, "details closed");
      check(find("#lost").hidden, "the connection is said to be lost");
      next();
      find("#make-invitation").click();
    },
    async () => {
      check(find("#invitation").textContent.startsWith("https://search.example.org"), "no invitation is shown");
      check(location.pathname === "/federations/wards", `the address is ${location.pathname}`);
      check(text().includes("Ward 9"), "the note is not in the list");
      const before = find(".facts dd").textContent;
      await until(() => find(".facts dd").textContent !== before, "not live after a form");
      check(find("#invitation"), "the invitation goes away");
      next();
      find("#hold").click();
    },
    async () => {
      check(text().includes("The federation is held."), "nothing says that it is held");
      check(location.search === "", "the message stays in the address");
      check(find("#resume") && !find("#hold"), "cannot be resumed");
      next();
      find("#resume").click();
    },
    () => {
      check(text().includes("The federation goes on.") && find("#hold"), "not resumed");
      next();
      Array.from(document.querySelectorAll("button")).find((button) => button.textContent.startsWith("Roll back")).click();
    },
    () => {
      check(find("h1").textContent === "Roll back to release 55?", `asked "${find("h1").textContent}"`);
      next();
      find("#confirm").click();
    },
    () => {
      check(text().includes("It is release 18."), "no word about the rollback");
      check(window.hostile === undefined && document.images.length === 1, "a note was run");
      next();
      find("#log-out").click();
    },
    () => {
      check(location.pathname === "/login", "still logged in");
      say(faults);
    },
  ];
  try {
    await steps[step]();
  } catch (error) {
    faults.push(`step ${step}: ${error}`);
    say(faults);
  }
})();
