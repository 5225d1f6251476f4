// Starts the deck, and makes a slide that would not fit smaller until it does.
(() => {
  const WIDTH = 1280;
  const HEIGHT = 720;
  const SMALLEST = 45; // per cent; tests/browser holds that no slide needs less

  function fit(slide) {
    slide.style.fontSize = "";
    for (let size = 95; size >= SMALLEST && slide.scrollHeight > HEIGHT; size -= 5) {
      slide.style.fontSize = `${size}%`;
    }
  }

  // formulas, pictures and widgets arrive when they like, and each makes its slide grow
  const grown = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const slide = target.closest("section");
      if (slide && slide.offsetHeight > 0) fit(slide);
    }
  });

  const deck = new Reveal({
    width: WIDTH,
    height: HEIGHT,
    margin: 0.05,
    center: false,
    hash: true,
    slideNumber: "c/t",
    transition: "none",
    pdfMaxPagesPerSlide: 1,
    pdfSeparateFragments: false,
    scrollActivationWidth: 0,
    plugins: [RevealNotes],
  });
  window.deck = deck;
  deck.initialize().then(() => {
    for (const slide of document.querySelectorAll(".slides section")) {
      grown.observe(slide);
      for (const piece of slide.children) grown.observe(piece);
    }
    document.documentElement.dataset.deck = "ready";
  });
})();
