"""Time and traffic of prefill and decode, load and capacity of replicas."""
