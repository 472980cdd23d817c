"""Objects of Kubernetes: what they hold, what they refer to, and what is wrong with one by itself."""
