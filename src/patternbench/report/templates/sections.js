// Draws the pictures of a page of sections, each into the element that has its name.
(async () => {
  for (const element of document.querySelectorAll(".plot")) {
    await page.plot(element, () => page.copy(page.data.figures[element.id]));
  }
  page.root.dataset.ready = "yes";
})();
