"""Files of platforms other than Kubernetes: Compose, SkyPilot, dstack, Truss, Triton."""
