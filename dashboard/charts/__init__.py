"""Pictures: rows of reports in, Plotly figures out; nothing here asks anybody or draws on a page."""
