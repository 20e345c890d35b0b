for (const box of document.querySelectorAll(".api-curl")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "api-copy";
  button.textContent = "Copy";
  button.setAttribute("aria-label", "Copy the curl line of " + box.dataset.of);
  const said = document.createElement("span");
  said.className = "visually-hidden";
  said.setAttribute("role", "status");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(box.querySelector("code").textContent);
      button.textContent = "Copied";
      said.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; said.textContent = ""; }, 2000);
    } catch {
      getSelection().selectAllChildren(box.querySelector("code"));
    }
  });
  box.append(button, said);
}
