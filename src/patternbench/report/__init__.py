"""Tables to figures, HTML, CSV and SVG; one file per format."""
