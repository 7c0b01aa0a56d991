"""Autoscaling policies, one file each, with the defaults that their makers publish."""
