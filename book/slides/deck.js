// Starts the deck, and makes a slide that would not fit smaller until it does, or lets it scroll.
(() => {
  const WIDTH = 1280;
  const HEIGHT = 720;
  const SMALLEST = 60; // per cent: what is set smaller cannot be read from the last row

  // a slide only ever gets smaller: what grew and shrank in turn would never come to rest
  function fit(slide) {
    const images = slide.querySelectorAll("img");
    for (const printed of slide.querySelectorAll(".result pre")) narrow(printed);
    if (slide.scrollHeight > HEIGHT) {
      for (const image of images) image.style.cssText = "";
    }
    let size = Number(slide.dataset.size || 100);
    while (slide.scrollHeight > HEIGHT && size > SMALLEST) {
      size -= 5;
      slide.style.fontSize = `${size}%`;
    }
    slide.dataset.size = size;
    if (slide.scrollHeight > HEIGHT) slide.classList.add("scrolls");
    else if (images.length === 1 && !slide.dataset.wide) {
      slide.dataset.wide = "yes";
      widen(images[0], slide);
    }
  }

  // a printed table keeps its columns: it gets smaller before its lines are broken; more than once
  // where the slide gets narrower, as on its way to paper
  function narrow(printed) {
    if (printed.clientWidth >= printed.scrollWidth) return;
    const before = Number(printed.dataset.share || 1);
    const share = (before * printed.clientWidth) / printed.scrollWidth;
    printed.dataset.share = share;
    if (share < 0.65) printed.style.whiteSpace = "pre-wrap";
    printed.style.fontSize = share < 0.65 ? "" : `${0.74 * share}em`;
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
  // on their way to paper the slides have other widths for a moment, and what got small stays so
  const laidOut = new Promise((go) => deck.on("pdf-ready", go));
  deck.initialize().then(() => deck.isPrintView() && laidOut).then(() => {
    for (const slide of document.querySelectorAll(".slides section")) {
      grown.observe(slide);
      for (const piece of slide.children) grown.observe(piece);
    }
    document.documentElement.dataset.deck = "ready";
  });
})();
