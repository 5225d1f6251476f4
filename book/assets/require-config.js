// Widgets are loaded by name; look for them beside this file and never on another host.
require.config({ baseUrl: new URL(".", document.currentScript.src).href });

// The widget manager queues its formulas in MathJax 2's way; MathJax 4 has no such queue and
// sets what is on the page by itself, so an empty queue is all that is missing.
(() => {
  const queue = { Queue() {}, Typeset() {} };
  let looks = 0;
  const timer = setInterval(() => {
    if (window.MathJax && !window.MathJax.Hub) window.MathJax.Hub = queue;
    if (++looks > 400) clearInterval(timer);
  }, 25);
})();
