// Draws the figures of a page that has sections alone.
(async () => {
  await page.sections();
  page.root.dataset.ready = "yes";
})();
