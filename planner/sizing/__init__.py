"""How much to hold for a recorded load: turn budgets, bursts in cards, and what cold start still pays."""
