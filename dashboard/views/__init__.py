"""The pages, one file each: ask a few reports, draw them. Streamlit runs the file of the page it shows."""
