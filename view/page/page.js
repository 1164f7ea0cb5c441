for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = row => row.cells[column].dataset.value ?? row.cells[column].textContent;
      const order = (a, b) => head.classList.contains("number") ? key(a) - key(b) : key(a).localeCompare(key(b));
      const rows = [...table.tBodies[0].rows].sort(order);
      if (down) rows.reverse();
      table.tBodies[0].append(...rows);
    });
  });
}
addEventListener("beforeprint", () => { for (const d of document.querySelectorAll("details")) d.open = true; });
