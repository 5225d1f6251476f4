// Widgets are loaded by name; look for them beside this file and never on another host.
// The widget manager's modules come in one file but look for their icons where their names lead,
// so their names lead to the folder of that file.
const FOLDER = "@jupyter-widgets/html-manager/dist";
require.config({
  baseUrl: new URL(".", document.currentScript.src).href,
  waitSeconds: 0, // a slow machine may take its time
  paths: {
    "@jupyter-widgets/base": `${FOLDER}/base`,
    "@jupyter-widgets/base7": `${FOLDER}/base7`,
    "@jupyter-widgets/controls": `${FOLDER}/controls`,
    "@jupyter-widgets/controls7": `${FOLDER}/controls7`,
    "@jupyter-widgets/html-manager": `${FOLDER}/html-manager`,
    "@jupyter-widgets/html-manager/dist": FOLDER,
  },
});

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
