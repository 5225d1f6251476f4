// Filter the rows of a ledger by verdict, by how they were decided, and by words. The page works
// without this file: then all rows are there, and nothing to filter them with.

for (const ledger of document.querySelectorAll(".course-ledger:not([data-ready])")) {
  ledger.dataset.ready = "true";
  const rows = [...ledger.querySelectorAll("tbody tr")];
  const count = ledger.querySelector("[role=status]");
  const words = ledger.querySelector("input");
  const choices = [...ledger.querySelectorAll("select")];

  const show = () => {
    const wanted = words.value.trim().toLowerCase();
    let shown = 0;
    for (const row of rows) {
      const chosen = choices.every(({ name, value }) => !value || row.dataset[name] === value);
      row.hidden = !(chosen && row.textContent.toLowerCase().includes(wanted));
      shown += !row.hidden;
    }
    count.textContent = `${shown} of ${rows.length} claims`;
  };

  ledger.querySelector(".course-ledger-filters").hidden = false;
  for (const control of [words, ...choices]) {
    control.addEventListener("input", show);
    control.setAttribute("data-lm-suppress-shortcuts", "true"); // JupyterLab would take the keys
  }
  show();
}
