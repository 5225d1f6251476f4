// Pictures inside widgets come without their texts: the widget manager drops them. They stand in
// the stored state of the page, so each picture gets its own back by its data.
(() => {
  const texts = new Map();
  for (const script of document.querySelectorAll('script[type$="widget-state+json"]')) {
    for (const { state } of Object.values(JSON.parse(script.textContent).state)) {
      for (const { data, metadata } of state.outputs ?? []) {
        const alt = metadata?.["image/png"]?.alt;
        if (alt) texts.set(`data:image/png;base64,${data["image/png"].trim()}`, alt);
      }
    }
  }
  const describe = () => {
    for (const image of document.querySelectorAll(".jupyter-widgets img:not([alt])")) {
      image.alt = texts.get(image.src.trim()) ?? "";
    }
  };
  if (texts.size) new MutationObserver(describe).observe(document, { childList: true, subtree: true });
})();
