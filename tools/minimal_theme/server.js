// A very small theme for Jupyter Book 2: it turns the tree of a page into HTML, with nothing but
// Node's own modules. tools/other_books.py uses it, since the real one comes from the network.
const http = require("http");

const content = `http://${process.env.HOST || "localhost"}:${process.env.CONTENT_CDN_PORT}`;
const MARKS = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escape = (text) => String(text ?? "").replace(/[&<>"]/g, (mark) => MARKS[mark]);
const inside = (node) => (node.children || []).map(render).join("");
const TAGS = { paragraph: "p", strong: "strong", emphasis: "em", blockquote: "blockquote",
  listItem: "li", table: "table", tableRow: "tr", tableCell: "td" };

function render(node) {
  const tag = TAGS[node.type];
  if (tag) return `<${tag}>${inside(node)}</${tag}>`;
  if (node.type === "text") return escape(node.value);
  if (node.type === "heading") return `<h${node.depth}>${inside(node)}</h${node.depth}>`;
  if (node.type === "inlineCode") return `<code>${escape(node.value)}</code>`;
  if (node.type === "code") return `<pre><code>${escape(node.value)}</code></pre>`;
  if (node.type === "list") return node.ordered ? `<ol>${inside(node)}</ol>` : `<ul>${inside(node)}</ul>`;
  if (node.type === "image") return `<img alt="${escape(node.alt)}" src="${escape(node.url)}">`;
  if (node.type === "link" || node.type === "crossReference")
    return `<a href="${escape(node.url || "#" + node.html_id)}">${inside(node)}</a>`;
  if (node.type === "output") return output(node.jupyter_data || node.data || {}) || inside(node);
  return inside(node);
}

function output(found) {
  if (found.text) return `<pre>${escape(found.text)}</pre>`;
  const plain = found.data?.["text/plain"];
  return plain ? `<pre>${escape(plain.content)}</pre>` : "";
}

async function page(slug) {
  const found = await (await fetch(`${content}/content/${slug}.json`)).json();
  const title = escape(found.frontmatter.title);
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title>` +
    `<h1>${title}</h1>${render(found.mdast)}</html>`;
}

http.createServer(async (request, answer) => {
  try {
    const path = decodeURIComponent(request.url.split("?")[0]).replace(/^\/|\/$/g, "");
    if (/\.(txt|css|xml|xsl|ico)$/.test(path)) return answer.end("");
    if (path.endsWith(".json")) {
      return answer.end(await (await fetch(`${content}/content/${path}`)).text());
    }
    const project = (await (await fetch(`${content}/config.json`)).json()).projects[0];
    answer.setHeader("content-type", "text/html");
    answer.end(await page(path || project.index));
  } catch (problem) {
    answer.statusCode = 500;
    answer.end(String(problem));
  }
}).listen(process.env.PORT, () => console.log(`Server started at http://localhost:${process.env.PORT}`));
