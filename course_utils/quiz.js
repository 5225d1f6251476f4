// Questions as groups of radio buttons. Everything happens in the browser, so a page without a
// kernel answers too. Texts are set as text, never as HTML.

const TAGS = { words: "span", code: "code", stress: "em", block: "pre" };

function make(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children);
  return element;
}

function marked(pieces) {
  return pieces.map(([kind, text]) => make(TAGS[kind], "", text));
}

function reason(option, word) {
  return make("p", "", make("b", "", word), " ", ...marked(option.because));
}

function ask(question, number, count) {
  const feedback = make("div", "course-quiz-feedback");
  feedback.setAttribute("role", "status");

  const button = make("button", "course-quiz-check", "Check");
  button.type = "submit";
  button.disabled = true;

  const rows = question.options.map((option, index) => {
    const radio = make("input");
    radio.type = "radio";
    radio.name = "option"; // each question is a form, so names do not meet
    radio.value = index;
    const mark = make("span", "course-quiz-mark");
    mark.setAttribute("aria-hidden", "true"); // the feedback says it in words
    const label = make("label", "course-quiz-option", radio, make("span", "", ...marked(option.text)), mark);
    return { option, radio, mark, label };
  });

  // a legend may hold no block of code, so blocks follow it
  const blocks = question.text.filter(([kind]) => kind === "block");
  const words = question.text.filter(([kind]) => kind !== "block");
  const title = count > 1 ? `Question ${number} of ${count}. ` : "";
  const legend = make("legend", "", make("b", "", title), ...marked(words));
  const group = make("fieldset", "", legend, ...marked(blocks), ...rows.map((row) => row.label));
  const form = make("form", "course-quiz-question", group, button, feedback);

  form.addEventListener("change", () => {
    button.disabled = false;
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const chosen = rows.find((row) => row.radio.checked);
    if (!chosen) return;
    chosen.mark.textContent = chosen.option.right ? "✓" : "✗";
    chosen.label.classList.add(chosen.option.right ? "is-right" : "is-wrong");
    feedback.replaceChildren(reason(chosen.option, chosen.option.right ? "Right." : "Not this one."));
    if (chosen.option.right) {
      const others = rows.filter((row) => row !== chosen).map(({ option }) =>
        make("li", "", ...marked(option.text), ": ", ...marked(option.because)));
      feedback.append(make("p", "", "And the others:"), make("ul", "", ...others));
    }
  });
  // JupyterLab would take the arrow keys and letters for its own and move or delete cells; it
  // asks the element that has the focus, not those around it
  for (const control of [button, ...rows.map((row) => row.radio)]) {
    control.setAttribute("data-lm-suppress-shortcuts", "true");
  }
  return form;
}

function render({ model, el }) {
  const questions = model.get("questions");
  el.classList.add("course-quiz");
  el.append(...questions.map((question, index) => ask(question, index + 1, questions.length)));
}

export default { render };
