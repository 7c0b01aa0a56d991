"""The pages: Streamlit and Plotly over the reports of the warehouse.

Takes reports through the HTTP API and computes no money of its own.
Hands on pictures whose time range and filters live in the address of the page.
"""
