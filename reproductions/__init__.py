"""Pages of ``docs`` that are remade from rounds, which are kept next to them: one module or package for each page."""
