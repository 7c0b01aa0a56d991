"""Rules over reports, their states, and the notifications that follow.

Takes reports of the warehouse and advice of the planner; a rule is data, its state machine is pure.
Hands on messages to Slack, webhooks and whatever Apprise reaches, each at least once.
"""
