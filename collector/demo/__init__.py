"""A simulated day: agents that work, GPUs that wait, told through the real ports and marked as simulated.

Takes a story (`story.yaml`) and a seed. Hands on spans made by the OpenTelemetry SDK and its exporters, and
GPU samples made by the real sampler over simulated cards. Nothing outside this folder knows of it, and what
it knows to be true (`demo-truth.json`) is read by tests alone.
"""

from collector.demo.settings import settings_text as settings_text
