"""The price book: dated rows for tokens and GPUs, the user's first, none ever overwritten.

Takes the names that spans used, the catalogue of `genai-prices`, our GPU list and the user's own file.
Hands on `token_prices`, `price_names` and `gpu_prices`, which SQL joins by name and by the span's own time.
"""

from warehouse.prices.book import prepare

__all__ = ["prepare"]
