// Starts the deck, and makes a slide that would not fit smaller until it does.
(() => {
  const WIDTH = 1280;
  const HEIGHT = 720;
  const SMALLEST = 45; // per cent; tests/browser holds that no slide needs less

  function fit(slide) {
    slide.style.fontSize = "";
    const images = slide.querySelectorAll("img");
    for (const image of images) image.style.cssText = "";
    for (const printed of slide.querySelectorAll(".result pre")) narrow(printed);
    for (let size = 95; size >= SMALLEST && slide.scrollHeight > HEIGHT; size -= 5) {
      slide.style.fontSize = `${size}%`;
    }
    if (images.length === 1) widen(images[0], slide);
  }

  // a printed table keeps its columns: it gets smaller before its lines are broken
  function narrow(printed) {
    printed.style.cssText = "";
    const share = printed.clientWidth / printed.scrollWidth;
    if (share >= 1) return;
    if (share < 0.65) printed.style.whiteSpace = "pre-wrap";
    else printed.style.fontSize = `${0.74 * share}em`;
  }

  // a picture alone on its slide takes the room that is left
  function widen(image, slide) {
    const room = HEIGHT - slide.scrollHeight - 12;
    const { offsetWidth: width, offsetHeight: height } = image;
    const times = Math.min((height + room) / height, (0.97 * slide.clientWidth) / width, 1.5);
    if (times > 1.05) image.style.cssText = `max-height: none; height: ${height * times}px;`;
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
